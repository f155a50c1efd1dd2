"""Guard: how far a job may be handed on, and what it may cost. It travels with the job through all agents."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Any, TypeVar

from .errors import BadSetup

_C = TypeVar("_C")

# Three times 0.1 is a little more than 0.3.
_ROUNDING = 1e-9
# Visits that a path is shown with at most: the last ones tell what went on.
_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Spent:
    """What a job's agents have used so far: tokens, and cost in whatever unit its guard counts."""

    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.tokens + other.tokens, self.cost + other.cost)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.tokens - other.tokens, self.cost - other.cost)

    def at_least(self, other: Spent) -> Spent:
        """The larger of each."""
        return Spent(max(self.tokens, other.tokens), max(self.cost, other.cost))

    def __bool__(self) -> bool:
        return bool(self.tokens or self.cost)


def _knows_what_was_named(made: type[_C]) -> type[_C]:
    """A limit that was given its default's value differs from one that was not given."""
    kind: Any = made
    init = kind.__init__

    @wraps(init)
    def init_and_note(self: _C, **given: Any) -> None:
        object.__setattr__(self, "_named", tuple(given))
        init(self, **given)

    kind.__init__ = init_and_note
    return made


@_knows_what_was_named
@dataclass(frozen=True, kw_only=True)
class Guard:
    """Limits that park a job instead of handing it on. It fails with the reason "chain_guard" and shows its path.

    - `hops` is how many visits at agents its path may have.
    - `repeats` is how often in a row the path may repeat the same sequence of agents, of any length. It stops a job
      that loops between draft and review too often.
    - `tokens` and `cost` are what all hops together may use (`ctx.spend`). None means no limit.

    A redrive with a guard (`redrive(..., guard=)`) changes the limits that it names, and the others stay. To lift a
    budget, name it: `Guard(cost=None)`.

    A fork, or a job that a client hands off, is a new job with its own guard (`fork(..., guard=)`). Each child of a
    fan-out may use what is left. What children used counts when they are joined. For those that end later, it counts
    before the job continues. (If a child was canceled, or ran out of workers or time, what it used since its last write
    is not known.)
    """

    hops: int = 50
    repeats: int = 5
    tokens: int | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            kinds = (int, float) if field.name == "cost" else (int,)
            least = 1 if field.name in ("hops", "repeats") else 0
            if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= sys.float_info.max:
                what = "a number" if field.name == "cost" else "a whole number"
                raise BadSetup(f"Guard({field.name}={value!r}): must be {what} of at least {least}")

    def against(self, path: Sequence[str]) -> str:
        """Why the last agent of the path may not be visited. Empty if it may."""
        if len(path) > self.hops:
            return f"{len(path)} hops are more than hops={self.hops}: {shown(path)}"
        times = rounds(path, self.repeats)
        return f"{times} rounds in a row are more than repeats={self.repeats}: {shown(path)}" if times else ""

    def onto(self, earlier: Guard) -> Guard:
        """The earlier limits, with those that this one names. (All of them, if pydantic made it.)"""
        named: tuple[str, ...] = vars(self).get("_named", tuple(field.name for field in fields(self)))
        return replace(earlier, **{name: getattr(self, name) for name in named})

    @property
    def limits_spending(self) -> bool:
        """Whether it has any budget."""
        return self.tokens is not None or self.cost is not None

    def over(self, spent: Spent) -> str:
        """Which budget is exceeded. Empty if none is."""
        if not self.limits_spending:
            return ""
        if self.tokens is not None and spent.tokens > self.tokens:
            return f"tokens spent: {spent.tokens} of {self.tokens}"
        if self.cost is not None and spent.cost - self.cost > _ROUNDING * self.cost:
            return f"cost spent: {spent.cost:g} of {self.cost:g}"
        return ""


DEFAULT = Guard()
NOTHING = Spent()


def rounds(path: Sequence[str], repeats: int) -> int:
    """How often in a row the path ends with the same sequence of agents, if that is more than `repeats`, else 0."""
    for period in range(1, len(path) // (repeats + 1) + 1):
        run = 0
        while run < len(path) - period and path[-1 - run] == path[-1 - run - period]:
            run += 1
        times = run // period + 1
        if times > repeats:
            return times
    return 0


def shown(path: Sequence[str]) -> str:
    """A path with its loops folded: `triage -> (draft -> review) x6 -> publish`."""
    left = list(path[-_SHOWN:])
    parts = ["..."] if len(left) < len(path) else []
    while left:
        period, times = _fold(left)
        loop = " -> ".join(left[:period])
        loop = f"({loop})" if period > 1 and times > 1 else loop
        parts.append(f"{loop} x{times}" if times > 1 else loop)
        del left[: period * times]
    return " -> ".join(parts)


def _fold(path: Sequence[str]) -> tuple[int, int]:
    """The loop that the path begins with and that covers most of it: its length, and its rounds."""
    best = (1, 1)
    for period in range(1, len(path) // 2 + 1):
        times = 1
        while path[times * period : (times + 1) * period] == path[:period]:
            times += 1
        if times > 1 and (best[1] == 1 or period * times > best[0] * best[1]):
            best = (period, times)
    return best
