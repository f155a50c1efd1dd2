"""Commands of those who observe: reading events, trimming them, and groups of consumers who share them."""

from __future__ import annotations

from dataclasses import dataclass

from ..rows import EventRow
from .base import Command


@dataclass(frozen=True, slots=True)
class Which:
    """Which events are wanted: of an agent, of a thread and the jobs on it, of some types; "" and () are any. A type
    that ends with `*` stands for all that begin so."""

    agent: str = ""
    thread: str = ""
    types: tuple[str, ...] = ()


ANY = Which()
# How many events may be in a batch.
MOST = 500


@dataclass(frozen=True, slots=True)
class Events(Command[list[EventRow]]):
    """Events after a position, oldest first; of one subject only, if given. `after` "" is the beginning.

    At most `limit` are looked at. The last row returned may be one that is not wanted, and the only one where there
    are none at all: it carries the position only. `Trimmed` if there were events after `after` that are gone; with
    `stored`, for one who kept `after` since then, `Rewound` if its event is gone with the store's last ones.
    Whatever is wanted, an event that tells that the store went back in time is among them.
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
    """Free the oldest events but `keep`, `limit` at most. How many that were."""

    keep: int
    limit: int = 5000


@dataclass(frozen=True, slots=True)
class Batch:
    """Events that one consumer of a group has, up to `last`. `partition`: where, None if there is but one."""

    id: str
    rows: tuple[EventRow, ...]
    last: str
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """What a consumer got. `more`: it is worth asking again at once."""

    batches: tuple[Batch, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group: how many events nobody of it has taken yet, how many batches are taken and not done, and what its maker
    keeps with it."""

    name: str
    lag: int
    taken: int
    about: bytes = b""


@dataclass(frozen=True, slots=True)
class JoinGroup(Command[None]):
    """Make a group if there is none: at the first event that is kept, or behind the newest (`now`). `anew` moves one
    there, and forgets what is taken. `about` is kept with it, in place of what was; None leaves that. `known`: it must
    be there."""

    group: str
    now: bool = False
    anew: bool = False
    about: bytes | None = None
    known: bool = False


@dataclass(frozen=True, slots=True)
class TakeEvents(Command[Taken]):
    """Take a batch whose lease is over, else the next events: `limit` are looked at at most. `batch` is its id, minted
    by the consumer: the same one gets the same batch. `limit` is MOST at most. `Trimmed` if some that the group has
    not done are gone."""

    group: str
    batch: str
    lease: int
    limit: int = 100
    which: Which = ANY


@dataclass(frozen=True, slots=True)
class AckEvents(Command[bool]):
    """Note that a batch is done up to a position ("": as before), and renew its lease; 0 gives the rest back. False if
    it is another consumer's by now."""

    group: str
    batch: str
    position: str
    lease: int
    partition: int = 0


@dataclass(frozen=True, slots=True)
class ListGroups(Command[list[GroupRow]]):
    """All groups, by name."""


@dataclass(frozen=True, slots=True)
class DeleteGroup(Command[None]):
    """Forget a group."""

    group: str
