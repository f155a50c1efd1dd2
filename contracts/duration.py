"""Duration: what a caller gives for a time span, seconds or a timedelta."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any, TypeAlias, overload

from .errors import BadSetup

Duration: TypeAlias = float | timedelta


@overload
def seconds_of(duration: Duration) -> float: ...


@overload
def seconds_of(duration: None) -> None: ...


@overload
def seconds_of(duration: Duration | None) -> float | None: ...


def seconds_of(duration: Duration | None) -> float | None:
    """A duration in seconds; None stays None. A number that no float holds is endless."""
    seconds: Any = duration.total_seconds() if isinstance(duration, timedelta) else duration
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise BadSetup(f"{seconds!r} is not a duration: give seconds, or a timedelta")
    try:
        float(seconds)
    except OverflowError:
        return math.inf if seconds > 0 else -math.inf
    return seconds
