"""Commands about several jobs: what they tell when one of the jobs stops them half-way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from batonpass.contracts.errors import BatonpassError

from .failure import Halfway
from .printing import print_json, say

R = TypeVar("R")


def done_to(jobs: Iterable[str], act: Callable[[str], R]) -> tuple[dict[str, R], BatonpassError | None]:
    """Act on one job after the other. Returns what came of each, and the error that stopped it."""
    done: dict[str, R] = {}
    try:
        for job in jobs:
            done[job] = act(job)
    except BatonpassError as error:
        if not done:
            raise
        return done, error
    return done, None


def tell(about: Mapping[str, Any], lines: Iterable[str], stopped: BatonpassError | None, *, as_json: bool) -> None:
    """Print what was done. If an error stopped it, raise that afterwards: what was done before it has happened."""
    if stopped is not None and as_json:
        raise Halfway(stopped, about)
    if as_json:
        print_json(about)
    else:
        for line in lines:
            say(line)
    if stopped is not None:
        raise stopped
