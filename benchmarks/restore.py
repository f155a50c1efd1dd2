"""Restoring a state of 4 KB, beside a raw GET of the same bytes."""

from __future__ import annotations

import redis

import batonpass as bp
from benchmarks.places import Places
from benchmarks.report import Result
from benchmarks.save import bytes_of, state_of
from benchmarks.timing import Effort, compare

_BAR = 1.5


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """By id, verified and unpacked; the floor does neither."""
    opened = bp.connect(places.redis_url, namespace=places.namespace())
    with opened as coordinator, redis.Redis.from_url(places.redis_url) as client:
        saved = [coordinator.save(thread="run", agent="start", state=state_of(n)).id for n in range(64)]
        for number in range(64):
            client.set(f"{places.mark}:{number}", bytes_of(number))
        compared = compare(
            effort,
            lambda number: coordinator.restore(saved[number % 64]),
            lambda number: client.get(f"{places.mark}:{number % 64}"),
        )
    return [Result.compared("restore 4 KB, Redis, sync / GET", compared, bar=_BAR)]
