"""Commands about what concerns a namespace: declarations, presence, pauses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...contracts.lean import dataclass
from ..rows import PauseRow
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


class Changed(NamedTuple):
    """Whether an agent was paused or resumed by this command, and since when it is so: 0 if it never was paused."""

    now: bool
    at: int


@dataclass(frozen=True, slots=True)
class PauseAgent(Command[Changed]):
    """Let no job of an agent be claimed, until it is resumed. If it is paused, the first reason stays.

    With `at` (a change's time from the first partition of several), another partition follows that one, unless it knows
    of a later change. So all agree in the end, whatever crosses on its way.
    """

    agent: str
    reason: str = ""
    at: int = 0


@dataclass(frozen=True, slots=True)
class ResumeAgent(Command[Changed]):
    """Let an agent's jobs be claimed again. Wakes workers that wait at these queues of it. `at` as in `PauseAgent`."""

    agent: str
    queues: tuple[str, ...] = ()
    at: int = 0


@dataclass(frozen=True, slots=True)
class Pauses(Command[list[PauseRow]]):
    """The agents that are paused, by name."""
