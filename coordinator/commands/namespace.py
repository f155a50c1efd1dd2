"""Commands about what concerns a namespace: declarations, presence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .base import Command


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
