"""Branching: where to put the successor of a placed checkpoint, so that its framework finds it."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, cast

from ..contracts.checkpoint import Checkpoint
from ..contracts.errors import Corrupted
from ..contracts.lean import dataclass
from .commands import Command
from .frameworks import adapter_of
from .rows import Place, PlaceRow
from .snapshots import open_summary


@dataclass(frozen=True, slots=True)
class Origin:
    """A placed checkpoint that gets a successor. `changed` names the values that are new in that, `latest` is the
    latest key in the place's scope, `alone` means that the successor is the first checkpoint of a new thread."""

    checkpoint: Checkpoint
    place: Place
    changed: Collection[str]
    latest: str
    alone: bool


@dataclass(frozen=True, slots=True)
class Branch:
    """The key under which the framework will find the successor, and its native part."""

    key: str
    native: Any
    context: Mapping[str, Any]


class Brancher(Protocol):
    """What an adapter may define beside `run` if its framework has places. Static, without importing the framework."""

    @staticmethod
    def branch(origin: Origin) -> Branch:
        """Where to put the successor. Raises `BadSetup` if there can be none."""
        ...

    @staticmethod
    def needed(
        thread: str, rows: Sequence[PlaceRow], stays: Sequence[PlaceRow]
    ) -> Generator[Command[Any], Any, set[str]]:
        """The ids of the checkpoints without which those that stay can't be read."""
        ...

    @staticmethod
    def lasts(scope: str) -> bool:
        """Whether the framework goes on from an inner scope's latest checkpoint in later runs, too."""
        ...


def brancher(framework: str) -> Brancher | None:
    """The framework's rule, if it has one. Without, the framework will not see the successor, only we do."""
    found = adapter_of(framework)
    return cast("Brancher", found) if hasattr(found, "branch") else None


def pruner(rows: Sequence[PlaceRow]) -> Brancher | None:
    """The rule of the framework that put these checkpoints. None if it has none, or none of them is readable."""
    for row in rows:
        with suppress(Corrupted):
            return brancher(open_summary(row.checkpoint).framework)
    return None
