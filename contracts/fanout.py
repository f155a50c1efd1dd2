"""Fan-out: what an agent gets from the jobs that it waits for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from .errors import BadSetup
from .handoff import Handoff

Wait: TypeAlias = int | Literal["all", "any"]
Failures: TypeAlias = int | Literal["fail_fast", "collect"]


@dataclass(frozen=True)
class ChildFailed:
    """Stands in for the result of a child that failed, was "rejected" or was "canceled".

    `reason` is that of the failed job. `error` is the last error's text, or why it was rejected.
    """

    job_id: str
    reason: str
    error: str


@dataclass(frozen=True)
class FanOut:
    """Children as jobs: those that an agent asks for, of which `need` must be done, and `spare` may be lost. Those
    whose numbers are in `done` were completed before the job was redriven, and are not made again. Those in `there` are
    jobs from then that go on, by their numbers."""

    handoffs: tuple[Handoff[Any], ...]
    need: int
    spare: int
    done: frozenset[int] = frozenset()
    there: Mapping[int, str] = field(default_factory=dict[int, str])


def fan_out(handoffs: tuple[Handoff[Any], ...], wait: object, failures: object) -> FanOut:
    """What a call asks for; `BadSetup` for what can't be."""
    count = len(handoffs)
    need = count if wait == "all" else 1 if wait == "any" else wait
    if not isinstance(need, int) or not 1 <= need <= count:
        raise BadSetup(f"ctx.fan_out(wait={wait!r}) of {count} children: use 'all', 'any', or a number of them")
    spare = 0 if failures == "fail_fast" else count if failures == "collect" else failures
    if not isinstance(spare, int) or spare < 0:
        raise BadSetup(f"ctx.fan_out(failures={failures!r}): use 'fail_fast', 'collect', or how many may fail")
    if failures != "collect" and wait != "all":
        spare = min(spare, count - need)  # with more of them lost it can't be met any more
    return FanOut(handoffs, need, spare)
