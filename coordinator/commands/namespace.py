"""Commands about what concerns a namespace: events, declarations, presence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..rows import EventRow
from .base import Command


@dataclass(frozen=True, slots=True)
class Events(Command[list[EventRow]]):
    """Events after a position, oldest first; of one subject only, if given. `after` "" is the beginning.

    At most `limit` are looked at. The last row returned may be of another subject: it carries the position only.
    """

    after: str = ""
    subject: str = ""
    limit: int = 100


@dataclass(frozen=True, slots=True)
class LastEvent(Command[str]):
    """The position of the newest event."""


@dataclass(frozen=True, slots=True)
class Declare(Command[None]):
    """Record agents' declarations (name -> packed) for the namespace."""

    agents: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Declared(Command[dict[str, bytes]]):
    """All recorded declarations."""


@dataclass(frozen=True, slots=True)
class Takers(Command[int]):
    """How many live workers take deliveries from a queue."""

    queue: str
