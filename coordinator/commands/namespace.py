"""Commands about what concerns a namespace: declarations, presence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .base import Command


@dataclass(frozen=True, slots=True)
class Declare(Command[list[str]]):
    """Record agents' declarations (name -> packed) for the namespace: the names of those that are left alone.

    With `before`, what was recorded of them when that was read, one that was recorded anew since is left alone.
    """

    agents: Mapping[str, bytes]
    before: Mapping[str, bytes] | None = None


@dataclass(frozen=True, slots=True)
class Declared(Command[dict[str, bytes]]):
    """All recorded declarations."""


@dataclass(frozen=True, slots=True)
class Takers(Command[int]):
    """How many live workers take deliveries from a queue."""

    queue: str
