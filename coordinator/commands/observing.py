"""Commands for observers: reading events, trimming them, and groups of consumers who share them."""

from __future__ import annotations

from ...contracts.lean import dataclass
from ..rows import EventRow
from .base import Command


@dataclass(frozen=True, slots=True)
class Which:
    """Which events are wanted: of an agent, of a thread and the jobs on it, of some types. "" and () stand for any. A
    type that ends with `*` stands for all that begin like it."""

    agent: str = ""
    thread: str = ""
    types: tuple[str, ...] = ()


ANY = Which()
# How many events may be in a batch.
MOST = 500


@dataclass(frozen=True, slots=True)
class Events(Command[list[EventRow]]):
    """Events after a position, oldest first; of one subject only, if given. `after` "" is the beginning.

    At most `limit` are looked at. The last row may be an unwanted event, or the only row, with nothing but a position,
    which shows how far was looked. Raises `Trimmed` if events after `after` are gone, and, with `stored` (the caller
    kept `after` for long), `Rewound` if the event of `after` was lost with the store's last ones. An event which
    reports that the store went back in time is always wanted.
    """

    after: str = ""
    subject: str = ""
    limit: int = 100
    which: Which = ANY
    stored: bool = False


@dataclass(frozen=True, slots=True)
class LastEvent(Command[str]):
    """The position of the newest event."""


@dataclass(frozen=True, slots=True)
class TrimEvents(Command[int]):
    """Delete all but the `keep` newest events, `limit` at most. Returns how many."""

    keep: int
    limit: int = 5000


@dataclass(frozen=True, slots=True)
class Batch:
    """Events up to `last` that one consumer of a group has taken. `partition`: where, None if there is only one."""

    id: str
    rows: tuple[EventRow, ...]
    last: str
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """The batches that a consumer got. `more`: it should ask again at once."""

    batches: tuple[Batch, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group: how many events are not taken yet, how many batches are taken but not done, what its maker keeps with
    it, and how many events are left in those batches (0 if nobody asked)."""

    name: str
    lag: int
    taken: int
    about: bytes = b""
    unfinished: int = 0


@dataclass(frozen=True, slots=True)
class JoinGroup(Command[None]):
    """Make a group if it does not exist: at the first event that is kept, or after the newest (`now`). `anew` moves an
    existing one there, and forgets what is taken. `about` replaces what is kept with it, unless it is None. `known`: it
    must exist."""

    group: str
    now: bool = False
    anew: bool = False
    about: bytes | None = None
    known: bool = False


@dataclass(frozen=True, slots=True)
class TakeEvents(Command[Taken]):
    """Take a batch whose lease is over, else the next events, of which `limit` (MOST at most) are looked at. `batch` is
    its id, minted by the consumer: the same id gets the same batch. `Trimmed` if events that the group has not done are
    gone."""

    group: str
    batch: str
    lease: int
    limit: int = 100
    which: Which = ANY


@dataclass(frozen=True, slots=True)
class AckEvents(Command[bool]):
    """Record that a batch is done up to a position ("": no progress), and renew its lease. 0 gives the rest back.
    Returns False if another consumer has the batch."""

    group: str
    batch: str
    position: str
    lease: int
    partition: int = 0


@dataclass(frozen=True, slots=True)
class ListGroups(Command[list[GroupRow]]):
    """All groups, by name. Of those whose names begin with `unfinished`, also count the events that are taken but not
    done, which takes longer the more there are. ("": of none.)"""

    unfinished: str = ""


@dataclass(frozen=True, slots=True)
class DeleteGroup(Command[None]):
    """Delete a group."""

    group: str
