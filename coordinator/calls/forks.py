"""Calls that go on from an earlier checkpoint: as a branch, a thread or a job of its own. What it keeps is shared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, cast

from ...contracts.alike import alike
from ...contracts.checkpoint import Checkpoint, Snapshot
from ...contracts.codec import pack
from ...contracts.errors import BadSetup, ContractViolation, Corrupted, KeyConflict, NotFound
from ...contracts.handoff import Envelope
from ...contracts.names import digest, home, mint
from ...contracts.transcript_losses import Losses
from ..book import Book
from ..branching import Origin, brancher
from ..commands import Import, Put, Restore, Save
from ..letters import open_envelope
from ..parts.bases import Bases
from ..parts.nodes import Base, value
from ..parts.share import Sharing
from ..refusals import Ungrounded
from ..rows import CheckpointRow, CommitLine, JobRow, Place
from ..seals import read_commit
from ..snapshots import Draft, Opened, amended, draft, open_row, saved
from ..transcripts import count_lost, saved_as, told, transcript_of
from . import Call, jobs, places
from .checkpoints import as_payload, checked, read
from .inputs import text
from .travel import resolve

_SHARING = (Sharing.REFER, Sharing.NOTHING)


@dataclass(frozen=True, slots=True)
class Edit:
    """What a fork changes in the state that it goes on from: nothing by default, some of it, or all."""

    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    append: Mapping[str, Any] = field(default_factory=dict[str, Any])
    state: Any = None

    @property
    def anything(self) -> bool:
        """Whether it changes anything."""
        return bool(self.changes or self.append) or self.state is not None

    def changed(self, before: Any) -> set[str]:
        """The values of the state that it changes, by name."""
        found = {*self.changes, *self.append}
        after: Any = self.state
        if isinstance(after, dict) and isinstance(before, dict):
            old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
            found |= {name for name, value in new.items() if name not in old or not alike(old[name], value)}
            found |= old.keys() - new.keys()
        return found

    def __post_init__(self) -> None:
        if self.state is not None and (self.changes or self.append):
            raise BadSetup("fork takes the whole state=, or what is new in it (changes=, append=), not both")

    def of(self, source: Checkpoint, base: Base, step: str) -> Snapshot:
        """The snapshot to save. What the framework noted for itself goes along."""
        made = Snapshot(step=step, framework=source.framework, native=source.native, context=source.context)
        if not (self.changes or self.append):
            return replace(made, state=source.state if self.state is None else self.state)
        if base.version == source.version:
            return replace(made, changes=self.changes, append=self.append)
        return replace(made, state=amended(source.state, self.changes, self.append))  # of one that was migrated


def fork(
    bases: Bases, book: Book, checkpoint_id: str, edit: Edit, thread: str | None, key: str | None
) -> Call[Checkpoint]:
    """A checkpoint that goes on from another one, on its thread or as the first of a new one."""
    origin = yield from _origin(book, checkpoint_id)
    source = origin.checkpoint
    target = source.thread if thread is None else new_name(thread)
    fork_id = _keyed(source.id, target, key) if key else mint("c", home(target))
    snapshot, place = yield from _placed(origin, edit, "fork", alone=thread is not None)
    drafts = _drafts(bases, origin, snapshot, target, fork_id, place)
    if key and (first := (yield from _there(fork_id))):
        return _same(first, next(drafts), key)
    for made in drafts:
        try:
            if thread is None:
                commit = yield from _save(made, origin)
            else:
                [commit] = yield Import(target, 0, [made.new], [source.id])
        except Ungrounded:
            continue
        if key and (first := (yield from _there(fork_id))):  # somebody else may have been first
            return _same(first, made, key)
        bases.put(target, made.nodes)
        return saved(made, commit)
    raise Corrupted(f"the store refuses a whole state of checkpoint {checkpoint_id}: its logs are not what they were")


def check(agent: object, payload: object, thread: str | None) -> None:
    """Refuse what a fork can't be at once."""
    if agent is not None and thread is not None:
        raise BadSetup("a fork goes to a thread= or to an agent=, whose job has its own: not both")
    if agent is None and payload is not None:
        raise BadSetup("payload= is for the job of an agent=; a checkpoint takes changes=, append= or state=")


def fork_job(
    bases: Bases, book: Book, checkpoint_id: str, edit: Edit, to: str, payload: object, key: str | None
) -> Call[JobRow]:
    """A new job that goes on from a checkpoint, with its state as edited unless there is a payload.

    The state arrives as the contract's payload, if it fits, and as a transcript; what the agent's framework can't be
    told of that stands in the job's first event.
    """
    origin = yield from _origin(book, checkpoint_id)
    source = origin.checkpoint
    if payload is not None and edit.anything:
        raise BadSetup("a fork takes a payload= or an edited state (changes=, append=, state=), not both")
    made = next(_drafts(bases, origin, edit.of(source, origin.base, "fork"), source.thread, ""))
    state = value(made.nodes.state)
    _, kind = yield from book.taker(to)
    if payload is None:
        payload = yield from _payload(book, to, source, state, edit)
    losses = Losses()
    saved = saved_as(source.framework, state, source.native)
    transcript = transcript_of(saved, losses, agent=source.agent, checkpoint=source.id)
    count_lost(kind, transcript, losses)
    about = {"checkpoint": source.id, **told(losses)}
    stored = transcript.dump()
    return (yield from jobs.submit(book, to, payload, key=key, origin=source.id, transcript=stored, about=about))


def _payload(book: Book, to: str, source: Checkpoint, state: object, edit: Edit) -> Call[object]:
    """What the agent is given: the state, where it fits; else what the job's agent was given, where `to` accepts that
    as its stand-in."""
    try:
        payload = as_payload(book, to, source.id, state)
        yield from book.address(to, payload)
        return payload
    except ContractViolation as misfit:
        given = None if edit.anything or source.job is None else (yield from _given(source.job, source.hop))
        accepts, _ = yield from book.taker(to)
        if given is None or given.contract != accepts:
            raise ContractViolation(f"{misfit}. Give payload=", fields=misfit.fields) from None
        return book.read(given.contract, given.payload)


def _given(job_id: str, hop: int | None) -> Call[Envelope | None]:
    """What a job's agent was given, if the job is still at that hop."""
    try:
        row = yield from jobs.look(job_id)
    except NotFound:
        return None
    return open_envelope(row.envelope, of=f"the envelope of job {job_id}") if row.hop == hop else None


def rollback(bases: Bases, book: Book, thread: str, to: str) -> Call[Checkpoint]:
    """A new checkpoint at the thread's tip with the state of an older one, which is its parent."""
    by_id = to[:1] == "c" and len(to) == 24
    at = yield from resolve(to if by_id else None, None if by_id else thread, None if by_id else to)
    origin = yield from _origin(book, at)
    source = origin.checkpoint
    if source.thread != thread:
        raise BadSetup(f"checkpoint {at} is on thread {source.thread!r}, not {thread!r}: fork it into a thread instead")
    snapshot, place = yield from _placed(origin, Edit(), "rollback", alone=False)
    for made in _drafts(bases, origin, snapshot, thread, mint("c", home(thread)), place):
        try:
            commit = yield from _save(made, origin)
        except Ungrounded:
            continue
        bases.put(thread, made.nodes)
        return saved(made, commit)
    raise Corrupted(f"the store refuses a whole state of thread {thread!r}: its logs are not what they were")


class _Origin(NamedTuple):
    """A checkpoint to go on from, what can be shared with it, and where its framework finds it."""

    checkpoint: Checkpoint
    base: Base
    place: Place | None


def source_of(book: Book, checkpoint_id: str) -> Call[tuple[Checkpoint, Base]]:
    """A checkpoint to go on from, as its agent's present version has it, and what can be shared with it."""
    origin = yield from _origin(book, checkpoint_id)
    return origin.checkpoint, origin.base


def _origin(book: Book, checkpoint_id: str) -> Call[_Origin]:
    opened = yield from read(Restore(checked(checkpoint_id)))
    assert opened is not None
    place = read_commit(opened.row.commit, opened.row.id).place
    return _Origin(book.migrated(opened.checkpoint), opened.base, place)


def _placed(origin: _Origin, edit: Edit, step: str, *, alone: bool) -> Call[tuple[Snapshot, Place | None]]:
    """What goes on from a checkpoint, and where its framework finds it. `alone`: as the first of a thread."""
    source, place = origin.checkpoint, origin.place
    snapshot = edit.of(source, origin.base, step)
    made = brancher(source.framework) if place else None
    if place is None or made is None:
        return snapshot, None
    latest = [] if alone else (yield from places.page(source.thread, place.scope, None, 1, whole=False))
    key = latest[0].place.key if latest else ""
    branch = made.branch(Origin(source, place, edit.changed(source.state), key, alone))
    return replace(snapshot, native=branch.native, context=branch.context), Place(place.scope, branch.key)


def _save(made: Draft, origin: _Origin) -> Call[CommitLine]:
    """Commit what goes on from a checkpoint to its thread."""
    if made.new.place is None or origin.place is None:
        commit: CommitLine = yield Save(made.new.thread, made.new, parent=origin.checkpoint.id, branch=True)
    else:
        commit = yield Put(made.new, parent=origin.place.key)
    return commit


def _drafts(
    bases: Bases, origin: _Origin, snapshot: Snapshot, thread: str, checkpoint_id: str, place: Place | None = None
) -> Iterator[Draft]:
    """The checkpoint with as much of its source as can be shared, then alone."""
    source = origin.checkpoint
    make = partial(
        draft,
        snapshot,
        thread=thread,
        agent=source.agent,
        base=origin.base,
        codec=bases.codec,
        more=None if source.version == 1 else {"version": source.version},
        place=place,
    )
    # A fork that a key names may be made again when it is gone, while others still use the logs that it began.
    log = mint("c", home(thread))
    return (make(sharing=sharing, checkpoint_id=checkpoint_id, log=log) for sharing in _SHARING)


def new_name(thread: str) -> str:
    if not thread:
        raise BadSetup("a thread needs a name: any text that no other thread has")
    return text(thread, "thread")


def _keyed(checkpoint_id: str, thread: str, key: str) -> str:
    """The id of the fork that a key makes: the same again is the same checkpoint."""
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
