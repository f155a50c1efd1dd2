"""Commands about places: where a framework puts checkpoints, to find them by names of its own.

A place is a scope and a key in a thread (LangGraph's namespace and checkpoint id). Keys are ordered by their
characters; the greatest of a scope that has a checkpoint is the scope's latest. A place can hold writes before it holds
a checkpoint, and loses them with it. A checkpoint that is put where one is takes that one's place; the other is freed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..parts.spans import Span
from ..rows import CommitLine, PlaceRow, Write
from .base import Command, Fence, NewCheckpoint
from .threads import Freed


@dataclass(slots=True)  # as NewCheckpoint
class Put(Command[CommitLine]):
    """Commit the checkpoint of a place (`checkpoint.place`), and with it `writes`, which belong to the place of its
    parent.

    `parent` is the parent's key in the same scope ("" for none; one that is not there is none). `tip` is the key that
    must be the scope's latest, "" if the scope must have no checkpoint yet; None asks for nothing. The thread's tip is
    the latest of the scope "". Without a fence the thread must have no unended job.

    `soon`: the answer may come when no kill takes it back, but a power loss might. `Store.behind` waits for the rest.
    """

    checkpoint: NewCheckpoint
    parent: str = ""
    tip: str | None = None
    fence: Fence | None = None
    writes: Sequence[Write] = ()
    soon: bool = False


@dataclass(slots=True)  # as NewCheckpoint
class PutWrites(Command[None]):
    """Note what was written at a place. It need not have its checkpoint yet."""

    thread: str
    scope: str
    key: str
    writes: Sequence[Write]
    fence: Fence | None = None


@dataclass(frozen=True, slots=True)
class Find(Command[PlaceRow | None]):
    """The checkpoint of a place with its state and writes; without a key, the scope's latest. None if there is none."""

    thread: str
    scope: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Places(Command[list[PlaceRow]]):
    """Places that have a checkpoint, the greatest key first, of all scopes if `scope` is None.

    `before` is a key and a scope: what comes behind them in that order follows. Without state and writes; with those,
    but without what lies in logs, if `whole`.
    """

    thread: str
    scope: str | None = ""
    before: tuple[str, str] | None = None
    limit: int = 50
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Walk(Command[list[PlaceRow]]):
    """The checkpoint of a place and those that it came from, nearest first, with state and writes, but without what
    lies in logs. May stop before `limit` when that is much: go on from the last one's parent."""

    thread: str
    scope: str
    key: str
    limit: int = 100


@dataclass(frozen=True, slots=True)
class ReadSpans(Command[list[bytes]]):
    """What spans of a thread's logs hold; fewer bytes of one that was freed meanwhile."""

    thread: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class OfRun(Command[list[tuple[str, str]]]):
    """Checkpoints of a run (`run` of their places, a digest): thread and id of each, `limit` at most."""

    run: str
    limit: int = 500


@dataclass(frozen=True, slots=True)
class Drop(Command[Freed]):
    """Free these checkpoints of a thread (500 at most) and what was written at their places. Those that are gone
    already, and the one that a job would resume from, are passed over."""

    thread: str
    checkpoints: tuple[str, ...]
