"""Plans: what a command over partitions asks each of them. Generators without I/O, so that sync and async code share
them: a plan yields questions to partitions, to be asked all at once, and is sent the outcomes in the same order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from typing import Any, TypeVar

from ...contracts.lean import dataclass
from .. import commands as c
from .failures import raise_first

R = TypeVar("R")
Ask = tuple[int, c.Command[Any]]
Plan = Generator[Sequence[Ask], list[Any], R]
# How many waiting workers to wake for several deliveries, at most.
_MOST = 8


@dataclass(frozen=True, slots=True)
class Ready(c.Command[list[int]]):
    """How many deliveries are in each queue of a partition, and then, in how many ms its next timer or lease is due."""

    queues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ring(c.Command[None]):
    """Wake a worker that waits for a queue: `partition` has `number` deliveries there. Asked of partition 0."""

    queue: str
    partition: int
    number: int = 1


@dataclass(frozen=True, slots=True)
class Used:
    """The first use of an idempotency key: the job ("" if there is none), and whether the note is from just now."""

    job_id: str
    payload_digest: str
    fresh: bool


@dataclass(frozen=True, slots=True)
class Note(c.Command[Used]):
    """Look up an idempotency key in a partition. If it is unused, note there that `job_id` of another partition has it.

    A note about the job `void` counts for nothing, and goes.
    """

    idem: str
    job_id: str = ""
    payload_digest: str = ""
    key_ttl: int = 0
    void: str = ""


@dataclass(frozen=True, slots=True)
class Filled:
    """A partition's answer, and the queues in which it also made deliveries ready."""

    answer: Any
    queues: list[str]


def told(at: int, answer: Any) -> Plan[Any]:
    """The answer of a partition. Wakes workers for the deliveries that it also made ready. If that fails, workers find
    them a little later."""
    if not isinstance(answer, Filled):
        return answer
    yield rings(at, answer.queues)
    return answer.answer


def rings(at: int, queues: Iterable[str], *, more: int = 0) -> list[Ask]:
    """Wake a worker for each delivery that a partition has made ready in these queues, eight at most for each queue,
    and so many `more`."""
    return [
        (0, Ring(queue, at, number if first else 1))
        for queue, number in Counter(queues).items()
        for first in (True, *[False] * (min(number, _MOST) - 1 + more))
    ]


def good(outcomes: list[Any]) -> list[Any]:
    """The answers. Raises the first error among them."""
    raise_first(outcomes)
    return outcomes
