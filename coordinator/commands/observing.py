"""Commands of those who observe: reading events, and trimming them."""

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


@dataclass(frozen=True, slots=True)
class Events(Command[list[EventRow]]):
    """Events after a position, oldest first; of one subject only, if given. `after` "" is the beginning.

    At most `limit` are looked at. The last row returned may be one that is not wanted, and the only one where there
    are none at all: it carries the position only. `Trimmed` if there were events after `after` that are gone.
    """

    after: str = ""
    subject: str = ""
    limit: int = 100
    which: Which = ANY


@dataclass(frozen=True, slots=True)
class LastEvent(Command[str]):
    """The position of the newest event."""


@dataclass(frozen=True, slots=True)
class TrimEvents(Command[int]):
    """Free the oldest events but `keep`, `limit` at most. How many that were."""

    keep: int
    limit: int = 5000
