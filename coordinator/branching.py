"""Branching: how what goes on from a checkpoint at a place is put where its framework finds it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from ..contracts.checkpoint import Checkpoint
from .frameworks import adapter_of
from .rows import Place


@dataclass(frozen=True, slots=True)
class Origin:
    """A checkpoint from which another goes on. `changed` names the values that the other has anew; `latest` is the
    latest key of the place's scope; `alone` says that the other is the first of a new thread."""

    checkpoint: Checkpoint
    place: Place
    changed: Collection[str]
    latest: str
    alone: bool


@dataclass(frozen=True, slots=True)
class Branch:
    """The key under which the framework finds what goes on, and what of it is the framework's own."""

    key: str
    native: Any
    context: Mapping[str, Any]


class Brancher(Protocol):
    """What an adapter whose framework has places may have beside `run`: static, and without importing it."""

    @staticmethod
    def branch(origin: Origin) -> Branch:
        """Where what goes on from a checkpoint is put; `BadSetup` if that can't be."""
        ...


def brancher(framework: str) -> Brancher | None:
    """The framework's, if it has one: without, what goes on is seen here, and not by the framework."""
    found = adapter_of(framework)
    return cast("Brancher", found) if hasattr(found, "branch") else None
