"""Commands about places: where a framework puts checkpoints, to find them by names of its own.

A place is a scope and a key in a thread (LangGraph's namespace and checkpoint id). Keys are ordered by their
characters, and the greatest in a scope that has a checkpoint is the scope's latest. A place may have writes before it
has a checkpoint, and loses them with it. A checkpoint that is put where another one is replaces it, and that is freed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...contracts.lean import dataclass
from ..parts.spans import Span
from ..rows import CommitLine, Fence, PlaceRow, Write
from .base import Command, NewCheckpoint
from .threads import Freed


@dataclass(slots=True)  # as NewCheckpoint
class Put(Command[CommitLine]):
    """Commit the checkpoint of a place (`checkpoint.place`), and with it `writes`, which belong to the place of its
    parent.

    `parent` is the parent's key in the same scope ("", or one without a checkpoint: no parent). `tip` is the key that
    must be the scope's latest ("": the scope must be empty; None: anything). The thread's tip is the latest of the
    scope "". Without a fence, the thread must have no unended job.

    `soon`: may be answered once a kill can't undo it, though a power loss could. `Store.behind` waits for the rest.
    """

    checkpoint: NewCheckpoint
    parent: str = ""
    tip: str | None = None
    fence: Fence | None = None
    writes: Sequence[Write] = ()
    soon: bool = False


@dataclass(slots=True)  # as NewCheckpoint
class PutWrites(Command[None]):
    """Store what was written at a place, which may not have its checkpoint yet."""

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

    `before` is a key and a scope, and the page begins after those. Without state and writes. With `whole`, it has both,
    except what is in logs.
    """

    thread: str
    scope: str | None = ""
    before: tuple[str, str] | None = None
    limit: int = 50
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Walk(Command[list[PlaceRow]]):
    """The checkpoint of a place and its ancestors, nearest first, with state and writes, except what is in logs. May
    stop before `limit` if that is much. Then go on from the last one's parent. `until` is the id of a checkpoint that
    is the last of them, if it is met."""

    thread: str
    scope: str
    key: str
    limit: int = 100
    until: str = ""


@dataclass(frozen=True, slots=True)
class ReadSpans(Command[list[bytes]]):
    """What spans of a thread's logs hold. Fewer bytes for a span that was freed meanwhile."""

    thread: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class OfRun(Command[list[tuple[str, str]]]):
    """Checkpoints that a run has put (`run` is the digest in their places): thread and id of each, `limit` at most."""

    run: str
    limit: int = 500


@dataclass(frozen=True, slots=True)
class Drop(Command[Freed]):
    """Free these checkpoints of a thread (500 at most), in order, and what was written at their places. Skips those
    that are gone, and the one that a job would resume from. If they have many spans, not all are freed at once: `next`
    is the number of the one to go on from."""

    thread: str
    checkpoints: tuple[str, ...]
