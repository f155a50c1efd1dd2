"""Calls about threads and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from ...contracts.checkpoint import Checkpoint, Snapshot
from ...contracts.contract import State
from ...contracts.duration import Duration
from ...contracts.errors import BadSetup, Conflict, ContractViolation, Corrupted, NotFound, ThreadBusy
from ...contracts.lean import dataclass
from ...contracts.names import is_id
from ...contracts.options import JobOptions
from ..book import Book
from ..commands import Expire, Latest, Restore, Save
from ..parts.bases import Bases
from ..parts.nodes import Base
from ..parts.writer import Sharing
from ..refusals import Ungrounded
from ..rows import CheckpointRow, CommitLine, JobRow
from ..snapshots import Opened, draft, open_row, saved, with_whole_state
from . import Call, jobs
from .again import as_drafted, kept
from .freeing import Freeing
from .inputs import bounded, identifier, known, mapping, milliseconds, text

# How often changes are applied anew to a thread to which others save at the same time.
_TRIES = 20
_NOTHING: Mapping[str, Any] = {}


@dataclass(slots=True)  # not frozen: one is made with every save
class Place:
    """The thread of a new checkpoint, its agent, and after how many seconds it expires. `version` is its state's."""

    thread: str
    agent: str
    parent: str | None = None
    branch: bool = False
    ttl: Duration | None = None
    version: int = 1


def snapshot(
    state: Any,
    changes: Mapping[str, Any] | None,
    append: Mapping[str, Any] | None,
    step: str,
    context: Mapping[str, Any] | None,
    framework: str,
) -> Snapshot:
    """The arguments of `save`."""
    if state is not None and (changes or append):
        raise BadSetup("give the whole state=, or what is new in it (changes=, append=), not both")
    return Snapshot(
        step=bounded(step, "step"),
        state=state,
        framework=framework,
        changes=_NOTHING if changes is None else mapping(changes, "changes"),
        append=_NOTHING if append is None else mapping(append, "append"),
        context=_NOTHING if context is None else mapping(context, "context"),
    )


def save_and_free(bases: Bases, freeing: Freeing, place: Place, snapshot: Snapshot) -> Call[Checkpoint]:
    """`save`, and if that has a ttl, delete now and then what has expired."""
    saved = yield from save(bases, place, snapshot)
    if place.ttl is not None:
        yield from freeing.wrote()
    return saved


def save(bases: Bases, place: Place, snapshot: Snapshot) -> Call[Checkpoint]:
    """Commit a checkpoint at the thread's tip."""
    if not bounded(place.thread, "thread"):
        raise BadSetup("save needs a thread: any name that groups the checkpoints that belong together")
    bounded(place.agent, "agent")
    parent = checked(place.parent) if place.parent else ""
    if snapshot.state is not None or (snapshot.changes is _NOTHING and snapshot.append is _NOTHING):
        return (yield from _save(bases, place, snapshot, bases.get(place.thread), parent))
    anything = bool(snapshot.changes or snapshot.append)  # otherwise the state stays the same
    snapshot = kept(snapshot)
    for _ in range(_TRIES):
        remembered = not parent and bases.get(place.thread) is not None
        base = yield from _base_of(bases, place.thread, parent)
        if base is not None and base.version != place.version:
            raise _of_another_version(base, place)
        try:
            made = snapshot if anything else with_whole_state(snapshot, base)
            return (yield from _save(bases, place, made, base, parent or (base.id if base else "")))
        except ThreadBusy:
            raise
        except BadSetup:
            if not remembered:
                raise
            bases.forget(place.thread)  # what the tip was can't be continued so, but perhaps what it is now
        except (Conflict, NotFound):
            if parent:
                raise
            bases.forget(place.thread)  # others have saved or deleted: the changes belong to what is there now
    raise Conflict(f"thread {place.thread!r} was changed by others during each of {_TRIES} attempts: try again later")


def _of_another_version(base: Base, place: Place) -> BadSetup:
    whose, advice = "", "restore it and save the whole state= once"
    if base.agent != place.agent:
        whose, advice = f" and of agent {base.agent!r}", f"save changes with agent={base.agent!r}, or {advice}"
    elif base.version > place.version:
        advice = "this program is older: update it"
    return BadSetup(
        f"the state of checkpoint {base.id} is of version {base.version}{whose}, agent {place.agent!r} has version "
        f"{place.version} here: {advice}"
    )


def _save(bases: Bases, place: Place, snapshot: Snapshot, base: Base | None, parent: str) -> Call[Checkpoint]:
    lives = 0 if place.ttl is None else milliseconds(place.ttl, "ttl", least=0.001)
    more = None if place.version == 1 else {"version": place.version}
    make = partial(draft, thread=place.thread, agent=place.agent, ttl=lives, codec=bases.codec, more=more)
    made = make(snapshot, base=base)
    # Look first, before a large state is sent whole: others may have saved most of it to this thread.
    if base is None and made.new.appends and (base := (yield from _tip(bases, place.thread))):
        made = make(as_drafted(snapshot, made), base=base)
    for less in (Sharing.REFER, Sharing.NOTHING, None):
        try:
            commit: CommitLine = yield Save(place.thread, made.new, parent=parent, branch=place.branch)
        except Ungrounded:
            made = make(as_drafted(snapshot, made), base=base, sharing=less) if less else made
        else:
            bases.put(place.thread, made.nodes)
            return saved(made, commit)
    raise Corrupted(f"the store refuses a whole state of thread {place.thread!r}: its logs have changed")


def _base_of(bases: Bases, thread: str, parent: str) -> Call[Base | None]:
    """The checkpoint to which changes are applied: the parent, by default the thread's newest."""
    known = bases.get(thread)
    if known is not None and parent in ("", known.id):
        return known
    if parent:
        opened = yield from read(Restore(parent))
        return opened.base if opened else None
    return (yield from _tip(bases, thread))


def _tip(bases: Bases, thread: str) -> Call[Base | None]:
    """The thread's newest checkpoint, of which classes need not take all that is stored. None if it has none."""
    opened = yield from read(Latest(text(thread, "thread")))
    if opened is None:
        bases.forget(thread)
        return None
    base = opened.base
    bases.put_later(thread, base.size, lambda: base)
    return base


def restore(checkpoint_id: str, *, rest: bool = False) -> Call[Checkpoint]:
    """One checkpoint, verified."""
    opened = yield from read(Restore(checked(checkpoint_id)))
    assert opened is not None
    return opened.partial if rest else opened.checkpoint


def read(command: Restore | Latest) -> Call[Opened | None]:
    """Read something and open it. Large states may be read in two steps. If one looks damaged because it was freed
    between them, reading it again says that it is gone."""
    row: CheckpointRow | None = yield command
    opened = open_row(row) if row else None
    if opened is not None and opened.damaged:
        row = yield command
        opened = open_row(row) if row else None
    return opened


def latest(bases: Bases, thread: str) -> Call[Checkpoint | None]:
    """The thread's newest checkpoint, verified. None if it has none."""
    opened = yield from read(Latest(text(thread, "thread")))
    if opened is None:
        bases.forget(thread)
        return None
    checkpoint, row = opened.checkpoint, opened.row
    size = len(row.state) + len(row.native) + sum(map(len, row.bodies))
    bases.put_later(thread, size, lambda: opened.base)
    return checkpoint


def expire(checkpoint_id: str) -> Call[None]:
    """Delete one checkpoint."""
    yield Expire(checked(checkpoint_id))


def hand_off(book: Book, checkpoint_id: str, to: str, payload: object, options: JobOptions) -> Call[JobRow]:
    """Make a new job that goes on from a checkpoint. Without a payload, with its state."""
    known(options, JobOptions, "hand_off")
    checkpoint = book.migrated((yield from restore(checkpoint_id)))
    if payload is None:
        payload = as_payload(book, to, checkpoint_id, checkpoint.state)
    traced = yield from jobs.traced_after(checkpoint.job, options)
    return (yield from jobs.submit(book, to, payload, traced, origin=checkpoint_id))


def as_payload(book: Book, to: str, checkpoint_id: str, given: object) -> object:
    """A state as a payload that the agent accepts."""
    if not isinstance(given, dict):
        kind = type(given).__name__
        raise ContractViolation(f"the state of checkpoint {checkpoint_id} is a {kind}, not a dict: give payload=")
    state = cast("dict[str, Any]", given)
    agent = book.agent(to)
    is_state = agent is not None and agent.accepts is State
    return State(**state) if is_state else dict(state)


def checked(checkpoint_id: str) -> str:
    """A checkpoint id. Refused here if it can't be one."""
    identifier(checkpoint_id, "checkpoint")
    if not is_id(checkpoint_id, "c"):
        raise NotFound(f"{checkpoint_id!r} is not a checkpoint id: those are a c and 23 more letters and digits")
    return checkpoint_id
