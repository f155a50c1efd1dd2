"""Plans: what a command over partitions asks each of them. Generators without I/O, so that sync and async code share
them: a plan yields what to ask which partition, all of that at once, and is sent the outcomes in the same order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .. import commands as c

R = TypeVar("R")
Ask = tuple[int, c.Command[Any]]
Plan = Generator[Sequence[Ask], list[Any], R]
# How many waiting workers are woken for several deliveries, at most.
SPARE = 8


@dataclass(frozen=True, slots=True)
class Ready(c.Command[list[int]]):
    """How many deliveries lie in each of a partition's queues, then in how many ms the next timer or lease is due."""

    queues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ring(c.Command[None]):
    """Wake one worker that waits for a queue: `partition` has `number` deliveries there. Asked of partition 0."""

    queue: str
    partition: int
    number: int = 1


@dataclass(frozen=True, slots=True)
class Above(c.Command[str]):
    """The oldest job of a partition that was created (`dead`: failed) after a time (ms since 1970), "" if there is
    none."""

    time: int
    dead: bool = False


@dataclass(frozen=True, slots=True)
class Used:
    """The first use of an idempotency key: by which job ("" for none), and whether it was noted a moment ago."""

    job_id: str
    payload_digest: str
    fresh: bool


@dataclass(frozen=True, slots=True)
class Note(c.Command[Used]):
    """Look up an idempotency key in a partition; if nobody used it, note there that `job_id` of another one does.

    A note about the job `void` counts for nothing, and goes.
    """

    idem: str
    job_id: str = ""
    payload_digest: str = ""
    key_ttl: int = 0
    void: str = ""


@dataclass(frozen=True, slots=True)
class Filled:
    """A partition's answer, and the queues in which it made deliveries ready besides."""

    answer: Any
    queues: list[str]


def told(at: int, answer: Any) -> Plan[Any]:
    """What a partition answered. Workers are woken for what it made ready besides; if that fails, they find it a little
    later."""
    if not isinstance(answer, Filled):
        return answer
    yield [
        (0, Ring(each, at, number if first else 1))
        for each, number in Counter(answer.queues).items()
        for first in (True, *[False] * (min(number, SPARE) - 1))
    ]
    return answer.answer


def good(outcomes: list[Any]) -> list[Any]:
    """The answers; the first error among them, raised."""
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return outcomes
