"""Jobs: calls about jobs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

from ...contracts.agent import Agent
from ...contracts.contract import Contract, ContractRef, Payload, load_mapping
from ...contracts.errors import (
    BadSetup,
    BatonpassError,
    ContractViolation,
    Corrupted,
    JobCanceled,
    JobFailed,
    JobRejected,
    KeyConflict,
    NotFound,
    ResultTimeout,
)
from ...contracts.guard import DEFAULT, NOTHING, Spent
from ...contracts.handoff import Envelope
from ...contracts.intent import Intent
from ...contracts.job import ENDED, PRIORITIES, JobInfo, JobState
from ...contracts.names import digest, home, is_id, mint, minted_at, partition_of
from ...contracts.nothing import nothing
from ...contracts.options import JobOptions, SubmitOptions
from ...contracts.part import Part
from ..blobs import open_blob, open_envelope, seal_envelope, seal_plain
from ..book import Book, queue_of, target
from ..coded.codec import MissingKey
from ..coded.texts import clear
from ..commands import Cancel, FirstUse, JobsOn, ListJobs, ReadJob, ReadStream, RunNow, Submit, Takers, Terms
from ..questions import question_of
from ..rows import JobRow, StreamRow
from ..snapshots import from_ms
from . import Call
from .descriptions import listed, result_of, whole
from .inputs import bounded, count, fitting, headers, identifier, milliseconds, name_wanted, span, text
from .pauses import marked, pauses, told_of
from .terms import terms

_PAGE = 200
# By how much later than its id says a job may have been made, in ms: its submit was repeated, or a clock is slow.
_LATER = 60_000


def submit(
    book: Book,
    agent: str,
    payload: object,
    options: SubmitOptions,
    *,
    origin: str = "",
    transcript: Mapping[str, Any] | None = None,
    about: Mapping[str, str] | None = None,
    once: tuple[str, ...] = (),
) -> Call[JobRow]:
    """Make a job, or return the first one with the same key. `about` has more fields for its first event. `once` is a
    key of our own, for which there is one job whatever the payload is."""
    wait, key_age, bound = _times(options) if options else _USUAL
    key, thread = names(options)
    contract, data = yield from book.address(agent, payload)
    bounds = yield from book.bounds(agent, contract)
    lane = yield from book.lane_within(bounds, agent, contract, data)
    if bounds.max_waiting is not None:
        bound = _counted(bound, bounds.max_waiting, agent, contract)
    idem = digest("key", agent, key) if key else digest("once", *once) if once else ""
    if bound.deadline:
        yield from _check_in_time(bound.deadline - wait, idem, options)
    job_id = mint("j", new_partition(thread, idem, origin))
    envelope = Envelope(
        contract=contract,
        payload=data,
        path=(agent,),
        checkpoint=origin or None,
        trace=_trace(book, options),
        transcript=transcript,
        guard=options.get("guard", DEFAULT),
    )
    intent = (yield from book.intent(agent, payload, contract, data)) if key else None
    command = Submit(
        job_id=job_id,
        thread=thread or job_id,
        target=target(agent, contract, seal_envelope(envelope), about, priority=bound.priority, lane=lane),
        key=key or "",
        idem=idem,
        payload_digest=intent.digest() if intent else "",
        key_ttl=key_age,
        delay=wait,
        origin=origin,
        terms=bound,
    )
    return (yield from _sent(book, command, intent, contract))


def names(options: SubmitOptions) -> tuple[str | None, str | None]:
    """A job's key and thread."""
    key, thread = options.get("key"), options.get("thread")
    if thread is not None and not bounded(thread, "thread"):
        raise BadSetup("thread='' names no thread: give a name, or None for a thread of the job's own")
    if key is not None and not bounded(key, "key"):
        raise BadSetup("key='' is the same for every job: give each its own key, or None")
    if thread is None and (on_busy := options.get("on_busy", "reject")) != "reject":
        raise BadSetup(
            f"on_busy={on_busy!r} says what to do with another job on the same thread, and thread= is missing: without "
            "it each job has a thread of its own"
        )
    if key is None and options.get("key_ttl") is not None:
        raise BadSetup("key_ttl= says how long a key is known, and key= is missing")
    return key, thread


def _counted(bound: Terms, most: int, agent: str, contract: ContractRef) -> Terms:
    """Terms under which a job is refused if this many wait for its agent."""
    return replace(bound, most=most, counted=tuple(queue_of(agent, contract, band) for band in PRIORITIES))


def _check_in_time(latest: int, idem: str, options: SubmitOptions) -> Call[None]:
    """Refuse a new job whose deadline is over by this machine's clock, or will be when it begins: it could only fail. A
    submit that is repeated after a lost reply is not new."""
    if latest > time.time_ns() // 1_000_000 or (idem and (yield FirstUse(idem)) is not None):
        return
    deadline, delay = options.get("deadline"), options.get("delay")
    if delay:
        raise BadSetup(f"deadline={deadline} is before the job may start (delay={delay}): it would always fail")
    raise BadSetup(f"deadline={deadline} is over: the job would fail at once")


def _trace(book: Book, options: SubmitOptions) -> Mapping[str, str]:
    trace = options.get("trace")
    if trace is not None:
        return headers(trace)
    if not book.traces:
        return nothing()
    from opentelemetry.propagate import inject

    current = dict[str, str]()
    inject(current)
    return fitting(current.items())


def _sent(book: Book, command: Submit, intent: Intent | None, contract: ContractRef) -> Call[JobRow]:
    """Send a submit. In a rolling deploy, its key may have been used with the same values as another version of their
    contract."""
    try:
        row: JobRow = yield command
    except KeyConflict as conflict:
        for other in (yield from book.as_versions(command.target.agent, intent)) if intent else ():
            with suppress(KeyConflict):
                row = yield replace(command, payload_digest=other.digest())
                return row
        if contract.version == 1:
            raise
        told = (
            f"If all that changed is the contract ({contract} renamed a field, or gave it another type), use that job"
        )
        raise KeyConflict(f"{conflict}. {told}", job_id=conflict.job_id) from None
    return row


def _times(options: SubmitOptions) -> tuple[int, int, Terms]:
    """A job's delay, how long its key is kept after its end (both in ms), and its terms."""
    wait = milliseconds(options.get("delay", 0.0), "delay")
    return wait, milliseconds(options.get("key_ttl", timedelta(days=1)), "key_ttl"), terms(options)


_USUAL = _times({})  # computing them takes a fifth of the time before a job is sent


def new_partition(thread: str | None, idem: str, origin: str) -> int | None:
    """The partition of a new job: that of what it goes on from, or else the one where its key is looked up first."""
    if origin:
        return partition_of(origin)
    return home(thread or idem) if thread or idem else None


def look(job_id: str) -> Call[JobRow]:
    """The job's record."""
    row: JobRow = yield ReadJob(checked(job_id))
    return row


def info(job_id: str) -> Call[JobInfo]:
    """The job as it is now."""
    [told] = yield from marked([whole((yield from look(job_id)))])
    return told


def payload(book: Book, job_id: str) -> Call[Contract | Payload]:
    """What the job's agent was given."""
    row = yield from look(job_id)
    envelope = open_envelope(row.envelope, of=f"the envelope of job {row.id}")
    with suppress(ContractViolation):  # it may have failed for that: who looks at it wants to see what is wrong
        return book.read(envelope.contract, envelope.payload)
    return load_mapping(envelope.contract, envelope.payload)


def traced_after(job_id: str | None, options: JobOptions) -> Call[SubmitOptions]:
    """The options of a job that goes on from another job's checkpoint. It has the other's trace context, unless one is
    given. If the other has none, it is submitted as any job."""
    more = cast("SubmitOptions", {**options})
    if job_id is not None and options.get("trace") is None:
        with suppress(NotFound, Corrupted, MissingKey):  # it is not needed to go on
            row = yield from look(job_id)
            if trace := open_envelope(row.envelope, of=f"the envelope of job {row.id}").trace:
                more["trace"] = trace
    return more


def cancel(job_id: str) -> Call[bool]:
    """End the job. False if it had ended already."""
    ended: bool = yield Cancel(checked(job_id))
    return ended


def run_now(job_id: str) -> Call[bool]:
    """Run the job before its time. False if it was ready, or at work, already."""
    hastened: bool = yield RunNow(checked(job_id))
    return hastened


def page(
    state: str | None,
    agent: str | Agent[Any] | None,
    limit: int,
    before: str | None = None,
    parent: str | None = None,
    key: str | None = None,
    thread: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    *,
    children: bool = True,
) -> Call[list[JobInfo]]:
    """Jobs, newest first, optionally of one state, agent, parent or thread, made within a time, or without children; or
    the one that was submitted to the agent with a key."""
    if state is not None and state not in tuple(JobState):
        raise BadSetup(f"state={state!r}, but it must be one of {', '.join(JobState)}")
    whose = name_wanted(agent)
    count(limit, "limit")
    if key is not None:
        if whose is None or (state, parent, thread, before, since, until, children) != (*(None,) * 6, True):
            raise BadSetup("key= finds the job that was submitted to agent= with it: give both, and no other filter")
        return (yield from marked((yield from _of_key(whose, key))[:limit]))
    if parent is not None and not children:
        raise BadSetup(f"parent={parent!r} lists that job's children: leave out children=False")
    found: list[JobInfo] = []
    last = checked(before) if before else ""
    first, end = span(since, until)
    at = 0 if until is None else end  # so that all later jobs need not be read
    if last:
        at = yield from _made(last, thread)
    if parent is not None:
        first = max(first, (yield from look(parent)).created)  # its children came later
    while len(found) < limit:
        every = ListJobs(_PAGE, last, state=state or "", agent=whose or "", at=at, children=children)
        rows: list[JobRow] = yield every if thread is None else JobsOn(text(thread, "thread"), _PAGE, last, at)
        wanted = (row for row in rows if parent in (None, row.parent) and first <= row.created < end)
        fitting = (row for row in wanted if state in (None, row.state) and whose in (None, row.agent))
        found += listed(row for row in fitting if children or not row.parent)
        if not rows or rows[-1].created < first:
            break
        at, last = rows[-1].created, rows[-1].id  # others may delete that job before the next page is read
    return (yield from marked(found[:limit]))


def _made(job_id: str, thread: str | None) -> Call[int]:
    """When a job of a list was made. If it was deleted meanwhile, its id tells, but not to the millisecond: rather some
    jobs come twice than that one is left out."""
    try:
        row = yield from look(job_id)
    except NotFound:
        return minted_at(job_id) + _LATER
    if thread is not None and row.thread != text(thread, "thread"):
        raise BadSetup(f"job {job_id} is not on thread {thread!r}: before= must be a job that this list has")
    return row.created


def _of_key(agent: str, key: str) -> Call[list[JobInfo]]:
    row: JobRow | None = yield FirstUse(digest("key", agent, text(key, "key")))
    return list(listed([row] if row is not None and row.state else []))


def outcome(book: Book, row: JobRow, returns: type[Contract] | None) -> Contract | Payload:
    """The result of a completed job. Raises the error of a job that ended otherwise."""
    if row.state == JobState.COMPLETED:
        contract, data, _ = result_of(row)
        if returns is None:
            return book.read(contract, data)
        try:
            return book.load(returns, contract, data)
        except ContractViolation as unfit:
            text = f"the result of job {row.id}, {contract}, is {unfit}"
            raise ContractViolation(text, fields=unfit.fields) from None
    if row.state == JobState.CANCELED:
        raise JobCanceled(f"job {row.id} was canceled", job_id=row.id, reason="canceled")
    error = clear(row.error)
    if row.state == JobState.REJECTED:
        raise JobRejected(f"job {row.id} was rejected by agent {row.agent!r}: {error}", job_id=row.id, reason=error)
    raise JobFailed(
        f"job {row.id} failed at agent {row.agent!r}, hop {row.hop} ({row.reason}): {error}",
        job_id=row.id,
        reason=row.reason,
        error=error,
    )


def late(row: JobRow) -> Call[ResultTimeout]:
    """The error for a job that did not end in time: what it is doing, and whether a worker is there for it."""
    waits = f"is {row.state}" + (f" ({row.reason})" if row.reason else "")
    if row.state == JobState.INPUT_REQUIRED:
        waits += f": it asks {_asked(row)} and waits for an answer"
    elif row.reason == "thread_busy":
        waits += f": another job is running on its thread {row.thread!r}: wait for it, or cancel it"
    elif row.state == JobState.SUBMITTED:
        takers: int = yield Takers(row.queue)
        waits += f", due {from_ms(row.due):%Y-%m-%d %H:%M:%S} UTC," if row.due else ""
        waits += f" for agent {row.agent!r} with {row.contract}; " + (
            f"{takers} live worker(s) accept it" if takers else "no live worker accepts it: start one"
        )
        if pause := (yield from pauses()).get(row.agent):
            waits += f"; {told_of(row.agent, pause)}"
    elif row.reason == "waiting_children":
        waits += f" at agent {row.agent!r}: {row.done + row.lost} of {row.children} children have ended"
    else:
        waits += f" at agent {row.agent!r} on worker {row.worker}"
    return ResultTimeout(f"job {row.id} {waits}", job_id=row.id, reason=row.reason)


def _asked(row: JobRow) -> str:
    """Its question. If it can't be told, because a key is missing or a number is too long, the job still waits."""
    try:
        return repr(question_of(row))
    except (BatonpassError, ValueError) as error:
        return f"a question that can't be shown ({error})"


def unserved(job_id: str) -> Call[bool]:
    """Whether the job waits, and no live worker accepts it."""
    row = yield from look(job_id)
    return row.state == JobState.SUBMITTED and not (yield Takers(row.queue))


def streamed(job_id: str, after: str) -> Call[tuple[list[Part], bool]]:
    """What the job has streamed after a position, and whether that was the end."""
    row = yield from look(job_id)
    rows: list[StreamRow] = yield ReadStream(row.id, after, _PAGE)
    of = f"what job {row.id} streamed"
    found = [Part(data=open_blob(each.data, of=of), cursor=each.position) for each in rows]
    return found, not rows and row.state in ENDED


def checked(job_id: str) -> str:
    """A job id. Refused here if it can't be one."""
    identifier(job_id, "job")
    if not is_id(job_id, "j"):
        raise NotFound(f"{job_id!r} is not a job id: those are a j and 23 more letters and digits")
    return job_id


def seal_result(contract: ContractRef, data: bytes, spent: Spent = NOTHING, own: Spent = NOTHING) -> bytes:
    """A result as stored: with what its chain has spent in all, and the job's own part of that."""
    told = [[spent.tokens, spent.cost, own.tokens, own.cost]] if spent else []
    return seal_plain([*contract, data, *told], path="result")
