"""Bounds: how much an agent takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .duration import Duration, seconds_of
from .errors import BadSetup, Refused

# The same as gRPC's limit for a message. Each claim of a job carries its whole payload, while the worker waits.
MAX_PAYLOAD = 4 * 1024 * 1024


_YEAR = 366 * 86_400
# The most starts in a period, because each is recorded until the period is over.
_MOST = 10_000
# The largest number that every store keeps.
_LARGEST = 2**63 - 1


def check_seconds(seconds: float, what: str) -> None:
    """Refuse what can't be a lease or a timeout. It must be at least a millisecond, or it would count as none."""
    if not 0.001 <= seconds <= _YEAR:  # also refuses NaN
        raise BadSetup(f"{what}={seconds} seconds, but it must be from a millisecond to a year")


def is_count(given: Any, least: int = 1, most: int = _LARGEST) -> bool:
    """Whether it is a whole number, at least `least`, that every store can keep. True is not one: it was meant for
    another option."""
    return isinstance(given, int) and not isinstance(given, bool) and least <= given <= most


@dataclass(frozen=True)
class Rate:
    """At most `count` starts in any `per` seconds (or a timedelta)."""

    count: int
    per: Duration = 1.0

    def __post_init__(self) -> None:
        if not is_count(self.count, most=_MOST):
            raise BadSetup(f"Rate({self.count!r}, ...): the number of starts must be from 1 to {_MOST:,}")
        if not 1 <= self.milliseconds <= _YEAR * 1000:
            raise BadSetup(f"Rate({self.count}, per={self.per}): the time must be from a millisecond to a year")

    @property
    def milliseconds(self) -> int:
        """The time, in ms."""
        seconds = seconds_of(self.per)
        return int(seconds * 1000) if math.isfinite(seconds) else 0


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What an agent declares about its load, as far as its senders have to know it: see `Agent`.

    `limited`: it limits how many deliveries (of each value of `limit_by`, or of all) run at once or start in a time.
    """

    max_waiting: int | None = None
    max_payload: int = MAX_PAYLOAD
    limited: bool = False
    limit_by: str | None = None

    def check(self) -> None:
        """Refuse what makes no sense."""
        if self.max_waiting is not None and not is_count(self.max_waiting):
            raise BadSetup(f"max_waiting={self.max_waiting!r}, but it must be 1 or more: how many deliveries may wait")
        if not is_count(self.max_payload):
            raise BadSetup(f"max_payload={self.max_payload!r}, but it must be a number of bytes")

    def admit(self, agent: str, payload: bytes) -> None:
        """Refuse a payload that is too large."""
        if len(payload) > self.max_payload:
            raise Refused(
                f"the payload for agent {agent!r} has {len(payload):,} bytes, more than its max_payload of "
                f"{self.max_payload:,}: keep it in a checkpoint or an artifact store and pass a reference"
            )
