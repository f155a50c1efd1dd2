"""Forks: calls that go on from an earlier checkpoint, as a branch, a thread or a job. They share its contents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...contracts.checkpoint import Checkpoint
from ...contracts.codec import pack
from ...contracts.errors import BadSetup, ContractViolation, Corrupted, KeyConflict, NotFound
from ...contracts.handoff import Envelope
from ...contracts.names import digest, home, is_id, mint
from ...contracts.options import JobOptions
from ...contracts.transcript_losses import Losses
from ..blobs import open_envelope
from ..book import Book
from ..commands import Import, Restore
from ..editing import native_again, plain_state
from ..parts.bases import Bases
from ..parts.nodes import value
from ..refusals import Ungrounded
from ..rows import CheckpointRow, JobRow
from ..snapshots import ROLLBACK, Draft, Opened, open_row, saved
from ..transcripts import count_lost, saved_as, told, transcript_of
from . import Call, jobs
from .checkpoints import as_payload
from .edits import Edit
from .idle import only_idle
from .inputs import bounded, known, text
from .sources import drafts, placed, save, save_one, source_of
from .travel import resolve


def fork(
    bases: Bases, book: Book, checkpoint_id: str, edit: Edit, thread: str | None, key: str | None
) -> Call[Checkpoint]:
    """Make a checkpoint that goes on from another one, on its thread or as the first of a new thread."""
    edit = edit.own()
    source = yield from source_of(book, checkpoint_id, replaced=edit.state is not None)
    origin = source.checkpoint
    edit = edit.within(origin.state)
    target = origin.thread if thread is None else new_name(thread)
    fork_id = _keyed(origin.id, target, key) if key else mint("c", home(target))
    snapshot, place = yield from placed(source, edit, "fork", alone=thread is not None)
    tries = drafts(bases, source, snapshot, target, fork_id, place=place)
    if key and (first := (yield from _there(fork_id))):
        return _same(first, next(tries), key)
    for made in tries:
        try:
            if thread is None:
                commit = yield from save(made, source)
            else:
                [commit] = yield Import(target, 0, [made.new], [origin.id])
        except Ungrounded:
            continue
        if key and (first := (yield from _there(fork_id))):  # another caller was first
            return _same(first, made, key)
        bases.put(target, made.nodes)
        return saved(made, commit)
    raise Corrupted(f"the store refuses a whole state of checkpoint {checkpoint_id}: its logs have changed")


def check(agent: object, payload: object, thread: str | None, returns: object, options: JobOptions) -> None:
    """Refuse what contradicts itself."""
    known(options, JobOptions, "fork")
    if agent is not None:
        if thread is not None:
            raise BadSetup("give thread= or agent=, not both: an agent's job has its own thread")
        return
    if payload is not None:
        raise BadSetup("payload= is for the job of an agent=; a checkpoint takes changes=, append= or state=")
    of_job = {name for name, value in options.items() if value is not None and name != "key"}
    if returns is not None or of_job:
        raise BadSetup(f"{min(of_job, default='returns')}= is for the job of an agent=: a checkpoint has none")


def fork_job(
    bases: Bases,
    book: Book,
    checkpoint_id: str,
    edit: Edit,
    to: str,
    payload: object,
    options: JobOptions,
) -> Call[JobRow]:
    """Make a new job that goes on from a checkpoint, with its state as edited.

    The agent gets the state as a transcript, and as its payload if none is given and the state fits. What its framework
    can't be told is listed in the job's first event.
    """
    edit = edit.own()
    at = yield from source_of(book, checkpoint_id)
    source = at.checkpoint
    if at.place is not None and at.place.scope:
        raise BadSetup(
            f"checkpoint {source.id} is a subgraph's ({at.place.scope}), which has a state of its own: fork the newest "
            "one of the graph itself"
        )
    edit = edit.within(source.state)
    made = next(drafts(bases, at, edit.of(source, at.base, "fork", resumes=False), source.thread, ""))
    state = plain_state(source, value(made.nodes.state))
    _, kind = yield from book.taker(to)
    if payload is None:
        payload = yield from _payload(book, to, source, state, edit)
    losses = Losses()
    told_by = saved_as(source.framework, state, source.native)
    transcript = transcript_of(told_by, losses, agent=source.agent, checkpoint=source.id)
    count_lost(kind, transcript, losses)
    about = {"checkpoint": source.id, **told(losses)}
    stored = transcript.dump()
    traced = yield from jobs.traced_after(source.job, options)
    return (yield from jobs.submit(book, to, payload, traced, origin=source.id, transcript=stored, about=about))


def _payload(book: Book, to: str, source: Checkpoint, state: object, edit: Edit) -> Call[object]:
    """The agent's payload: the state, if it fits; otherwise the payload of the job's agent, if `to` accepts that, too,
    and so can stand in for it."""
    try:
        payload = as_payload(book, to, source.id, state)
        yield from book.address(to, payload)
        return payload
    except ContractViolation as misfit:
        given = None if edit.anything or source.job is None else (yield from _given(source.job, source.hop))
        accepts, _ = yield from book.taker(to)
        if given is None or given.contract != accepts:
            hint = "Give payload= (--payload)"
            if edit.anything and source.job is not None:
                hint += (
                    ": the agent begins with it, and is told the conversation as edited. To continue a failed job in "
                    "the middle, redrive it with the edit"
                )
            raise ContractViolation(f"{misfit}. {hint}", fields=misfit.fields) from None
        return book.read(given.contract, given.payload)


def _given(job_id: str, hop: int | None) -> Call[Envelope | None]:
    """What a job's agent was given, if the job is still at that hop."""
    try:
        row = yield from jobs.look(job_id)
    except NotFound:
        return None
    return open_envelope(row.envelope, of=f"the envelope of job {job_id}") if row.hop == hop else None


def rollback(bases: Bases, book: Book, thread: str, to: str) -> Call[Checkpoint]:
    """Save a checkpoint at the thread's tip with the state of an older one, which becomes its parent. If that is of a
    hop of a job, so is this one: the job can go on from there."""
    given: Any = to
    by_id = not isinstance(given, str) or is_id(given, "c")
    at = yield from resolve(to if by_id else None, None if by_id else thread, None if by_id else to)
    source = yield from source_of(book, at)
    if source.checkpoint.thread != thread:
        where = f"checkpoint {at} is on thread {source.checkpoint.thread!r}, not {thread!r}"
        raise BadSetup(f"{where}: fork it into a thread instead")
    snapshot, place = yield from placed(source, Edit(), "rollback", alone=False)
    made_id, old = mint("c", home(thread)), source.checkpoint
    if old.job is not None:
        snapshot = replace(snapshot, native=native_again(old, made_id))
    more = {ROLLBACK: True}
    tries = drafts(bases, source, snapshot, thread, made_id, place=place, job=old.job, hop=old.hop, more=more)
    with only_idle(thread, "take the thread back"):
        made, commit = yield from save_one(tries, source)
    bases.put(thread, made.nodes)
    return saved(made, commit)


def new_name(thread: str) -> str:
    if not thread:
        raise BadSetup("a thread needs a unique name")
    return bounded(thread, "thread")


def _keyed(checkpoint_id: str, thread: str, key: str) -> str:
    """The id of the fork with this key. So the same fork again is the same checkpoint."""
    return mint("c", home(thread))[:3] + digest("fork", checkpoint_id, thread, text(key, "key"))[:21]


def _there(checkpoint_id: str) -> Call[Opened | None]:
    try:
        row: CheckpointRow = yield Restore(checkpoint_id)
    except NotFound:
        return None
    return open_row(row)


def _same(first: Opened, made: Draft, key: str) -> Checkpoint:
    found = first.checkpoint
    if pack(found.state) != pack(value(made.nodes.state)):
        raise KeyConflict(f"the key {key!r} was used for another fork, {found.id}: use another key, or that fork")
    return found
