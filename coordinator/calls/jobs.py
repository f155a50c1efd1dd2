"""Jobs: calls about jobs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar, get_args

from ...contracts.agent import Agent
from ...contracts.contract import Contract, ContractRef, Payload, load_mapping
from ...contracts.errors import (
    BadSetup,
    ContractViolation,
    Corrupted,
    JobCanceled,
    JobFailed,
    JobRejected,
    KeyConflict,
    NotFound,
    ResultTimeout,
)
from ...contracts.guard import DEFAULT, NOTHING, Guard, Spent
from ...contracts.handoff import Envelope
from ...contracts.intent import Intent
from ...contracts.job import BANDS, ENDED, PRIORITIES, Children, JobInfo, JobState, Lease, OnBusy
from ...contracts.names import digest, home, is_id, mint, partition_of
from ...contracts.nothing import nothing
from ...contracts.options import SubmitOptions
from ...contracts.part import Part
from ...contracts.understood import understood
from ..blobs import open_blob, open_envelope, seal_envelope, seal_plain
from ..book import Book, lane_within, parse_ref, queue_of, target
from ..coded.codec import MissingKey
from ..coded.texts import clear
from ..commands import Cancel, ListJobs, ReadJob, ReadStream, Submit, Takers, Terms
from ..questions import question_of
from ..rows import JobRow, StreamRow
from ..snapshots import from_ms
from . import Call
from .inputs import count, fitting, headers, identifier, instant, milliseconds, name_wanted, text

R = TypeVar("R")
_log = logging.getLogger("batonpass.store")
_PAGE = 200


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
    key, thread = options.get("key"), options.get("thread")
    wait, key_age, bound = _times(options) if options else _USUAL
    text(thread or "", "thread")
    if key is not None and not text(key, "key"):
        raise BadSetup("key='' is the same for every job: give each its own key, or None")
    contract, data = yield from book.address(agent, payload)
    bounds = yield from book.bounds(agent, contract)
    lane = lane_within(bounds, agent, contract, data)
    if bounds.max_waiting is not None:
        bound = _counted(bound, bounds.max_waiting, agent, contract)
    idem = digest("key", agent, key) if key else digest("once", *once) if once else ""
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


def _counted(bound: Terms, most: int, agent: str, contract: ContractRef) -> Terms:
    """Terms under which a job is refused if this many wait for its agent."""
    return replace(bound, most=most, counted=tuple(queue_of(agent, contract, band) for band in PRIORITIES))


def _trace(book: Book, options: SubmitOptions) -> Mapping[str, str]:
    if "trace" in options:
        return headers(options["trace"])
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


def terms(options: SubmitOptions) -> Terms:
    """A job's terms. Refused here if they are invalid."""
    if strange := options.keys() - SubmitOptions.__annotations__.keys():
        raise TypeError(f"submit() got an unexpected keyword argument {min(strange)!r}")
    at, priority = options.get("at"), options.get("priority", "normal")
    if at is not None and options.get("delay"):
        raise BadSetup("give delay= or at=, not both")
    guard: Any = options.get("guard", DEFAULT)
    if not isinstance(guard, Guard):
        raise BadSetup(f"guard={guard!r}, but it must be a batonpass.Guard")
    if priority not in tuple(BANDS):  # a tuple, because `priority` may not be hashable
        raise BadSetup(f"priority={priority!r}, but it must be one of {', '.join(BANDS)}")
    on_busy = options.get("on_busy", "reject")
    if on_busy not in get_args(OnBusy):
        raise BadSetup(f"on_busy={on_busy!r}, but it must be one of {', '.join(get_args(OnBusy))}")
    if on_busy in ("interrupt", "rollback") and (at is not None or options.get("delay")):
        raise BadSetup(f"on_busy={on_busy!r} cancels the thread's job at once: submit without delay= and at=")
    expires, deadline = options.get("expires"), options.get("deadline")
    return Terms(
        priority=BANDS[priority],
        at=instant(at, "at") if at is not None else 0,
        expires=milliseconds(expires, "expires", least=0.001) if expires is not None else 0,
        within=0
        if deadline is None or isinstance(deadline, datetime)
        else milliseconds(deadline, "deadline", least=0.001),
        deadline=instant(deadline, "deadline") if isinstance(deadline, datetime) else 0,
        on_busy=on_busy,
    )


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
    return _whole((yield from look(job_id)))


def payload(book: Book, job_id: str) -> Call[Contract | Payload]:
    """What the job's agent was given."""
    row = yield from look(job_id)
    envelope = open_envelope(row.envelope, of=f"the envelope of job {row.id}")
    with suppress(ContractViolation):  # it may have failed for that: who looks at it wants to see what is wrong
        return book.read(envelope.contract, envelope.payload)
    return load_mapping(envelope.contract, envelope.payload)


def traced_after(job_id: str | None, given: Mapping[str, str] | None, key: str | None) -> Call[SubmitOptions]:
    """The options of a job that goes on from another job's checkpoint. It has the other's trace context, unless one is
    given. If the other has none, it is submitted as any job."""
    trace = given
    if given is None and job_id is not None:
        with suppress(NotFound, Corrupted, MissingKey):  # it is not needed to go on
            row = yield from look(job_id)
            trace = open_envelope(row.envelope, of=f"the envelope of job {row.id}").trace or None
    return {"key": key} if trace is None else {"key": key, "trace": trace}


def cancel(job_id: str) -> Call[bool]:
    """End the job. False if it had ended already."""
    ended: bool = yield Cancel(checked(job_id))
    return ended


def page(
    state: str | None, agent: str | Agent[Any] | None, limit: int, before: str | None = None
) -> Call[list[JobInfo]]:
    """Jobs, newest first, optionally of one state or agent."""
    if state is not None and state not in tuple(JobState):
        raise BadSetup(f"state={state!r}, but it must be one of {', '.join(JobState)}")
    whose = name_wanted(agent)
    count(limit, "limit")
    found: list[JobInfo] = []
    last = checked(before) if before else ""
    while len(found) < limit:
        rows: list[JobRow] = yield ListJobs(_PAGE, last, state=state or "", agent=whose or "")
        chosen = [row for row in rows if state in (None, row.state) and whose in (None, row.agent)]
        found += listed(chosen)
        if not rows:
            break
        last = rows[-1].id
    return found[:limit]


def outcome(book: Book, row: JobRow, returns: type[Contract] | None) -> Contract | Payload:
    """The result of a completed job. Raises the error of a job that ended otherwise."""
    if row.state == JobState.COMPLETED:
        contract, data, _ = _result(row)
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
        waits += f": it asks {question_of(row)!r} and waits for an answer"
    elif row.reason == "thread_busy":
        waits += f": another job is running on its thread {row.thread!r}: wait for it, or cancel it"
    elif row.state == JobState.SUBMITTED:
        takers: int = yield Takers(row.queue)
        waits += f", due {from_ms(row.due):%Y-%m-%d %H:%M:%S} UTC," if row.due else ""
        waits += f" for agent {row.agent!r} with {row.contract}; " + (
            f"{takers} live worker(s) accept it" if takers else "no live worker accepts it: start one"
        )
    elif row.reason == "waiting_children":
        waits += f" at agent {row.agent!r}: {row.done + row.lost} of {row.children} children have ended"
    else:
        waits += f" at agent {row.agent!r} on worker {row.worker}"
    return ResultTimeout(f"job {row.id} {waits}", job_id=row.id, reason=row.reason)


def listed(rows: Iterable[JobRow]) -> Iterator[JobInfo]:
    """Stored jobs for a list. A damaged one is left out and logged, because it must not hide the others."""
    for row in rows:
        try:
            yield _whole(row)
        except Corrupted as error:
            _log.warning("left out of a list: %s", error)


def _whole(row: JobRow) -> JobInfo:
    """`describe`, for a job of a store that may be damaged."""
    try:
        return describe(row)
    except (ArithmeticError, LookupError, OSError, ValueError) as error:
        raise Corrupted(f"job {row.id} is damaged in the store ({error}): a backup may have it whole") from None


def describe(row: JobRow) -> JobInfo:
    """A stored job as users see it. What can't be read of its contents is left out and named, so that a list can't fail
    because of it."""
    unreadable: list[str] = []
    envelope = _readable(_envelope, row, "envelope", unreadable)
    asks = row.state == JobState.INPUT_REQUIRED
    question = _readable(question_of, row, "question", unreadable) if asks else None
    return JobInfo(
        id=row.id,
        state=JobState(row.state),
        reason=row.reason,
        agent=row.agent,
        contract=parse_ref(row.contract),
        thread=row.thread,
        hop=row.hop,
        attempt=row.attempt,
        crashes=row.crashes,
        path=envelope.path if envelope else (),
        guard=envelope.guard if envelope else DEFAULT,
        spent=_spent(row, envelope.spent if envelope else NOTHING),
        checkpoint_id=row.tip or None,
        lease=_lease(row) if row.lease else None,
        key=row.key or None,
        question=question,
        error=clear(row.error) or None,
        created_at=from_ms(row.created),
        updated_at=from_ms(row.updated),
        due_at=from_ms(row.due) if row.due else None,
        priority=PRIORITIES[row.priority],
        expires_at=from_ms(row.expires) if row.expires else None,
        deadline=from_ms(row.deadline) if row.deadline else None,
        parent=row.parent or None,
        children=Children(row.children, row.done, row.lost) if row.fan else None,
        unreadable=tuple(unreadable),
    )


def _readable(read: Callable[[JobRow], R], row: JobRow, what: str, unreadable: list[str]) -> R | None:
    """A stored text of a job. If it can't be read here, None, and its name is noted."""
    try:
        return read(row)
    except (Corrupted, MissingKey):
        unreadable.append(what)
        return None


def _envelope(row: JobRow) -> Envelope:
    return open_envelope(row.envelope, of=f"the envelope of job {row.id}")


def _lease(row: JobRow) -> Lease:
    return Lease(id=row.lease, token=row.token, worker=row.worker, expires_at=from_ms(row.lease_until))


def _spent(row: JobRow, before: Spent) -> Spent:
    with suppress(Corrupted, MissingKey):  # reading the result will raise that
        if row.result:
            return _result(row)[2] if row.state == JobState.COMPLETED else before.at_least(_spent_till(row))
    return before


@understood("what job {0.id} spent")
def _spent_till(row: JobRow) -> Spent:
    """What the chain had spent when the job ended last without a result."""
    _, _, tokens, cost, *_ = open_blob(row.result, of=f"what job {row.id} spent")
    return NOTHING.at_least(Spent(tokens, cost))


@understood("the result of job {0.id}")
def _result(row: JobRow) -> tuple[ContractRef, bytes, Spent]:
    """The result's contract and payload, and what the chain has spent in all."""
    name, version, data, *spent = open_blob(row.result, of=f"the result of job {row.id}")
    return ContractRef(name, version), data, Spent(*spent[0][:2]) if spent else NOTHING


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
