"""Scenes of deliveries in a lane, before the command that rule 2 is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from batonpass.contracts.names import digest, mint
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, fence_of, new_target

Scene = Callable[[Bench], c.Command[Any]]


class _Lane:
    """Four deliveries of an agent of its own, of which some were claimed within limits."""

    def __init__(self, bench: Bench, lease: int = MINUTE, **limits: int) -> None:
        self.agent, self.lane = mint("l"), digest(mint("l"))
        for _ in range(4):
            bench.submit(self.agent)
        self.fences = [fence_of(each) for each in bench.do(self.claim(lease, **(limits or {"concurrency": 1})))]
        bench.clock.advance(1)

    def claim(self, lease: int = MINUTE, **limits: int) -> c.Claim:
        queue = new_target(self.agent).queue
        return c.Claim(
            "w", ((queue, lease),), (mint("l"), mint("l"), mint("l")), {queue: c.Limits(self.lane, **limits)}
        )


def _in_lane(command: Callable[[c.Fence], c.Command[Any]], **limits: int) -> Scene:
    return lambda bench: command(_Lane(bench, **limits).fences[0])


def _let_out(**limits: int) -> Scene:
    """A claim of what was let out of its line."""

    def scene(bench: Bench) -> c.Command[Any]:
        lane = _Lane(bench, **limits)
        bench.do(c.Complete(lane.fences[0], b"result"))
        return lane.claim(**limits)

    return scene


def _back(bench: Bench) -> c.Command[Any]:
    """A claim that starts one of two that were let out, and puts the other one back."""
    lane = _Lane(bench, concurrency=2)
    for fence in lane.fences:
        bench.do(c.Complete(fence, b"result"))
    return lane.claim(concurrency=1)


GROWING: dict[str, Scene] = {
    "suspend in a lane": _in_lane(lambda f: c.Suspend(f, b"sure?")),
    "sleep in a lane": _in_lane(lambda f: c.Sleep(f, 1)),
    "hand off in a lane": _in_lane(lambda f: c.HandOff(f, new_target("review"))),
}
ENDING: dict[str, Scene] = {
    "claim what was let out": _let_out(concurrency=1),
    "claim and put back what was let out": _back,
    "complete in a lane": _in_lane(lambda f: c.Complete(f, b"result")),
    "fail in a lane": _in_lane(lambda f: c.Fail(f, "boom", "attempts")),
    "release in a lane": _in_lane(c.Release),
    "cancel in a lane": _in_lane(lambda f: c.Cancel(f.job_id)),
    "reap a lane": _in_lane(lambda f: c.Reap(), lease=1),
    "open a gate": _in_lane(lambda f: c.Reap(), count=1, per=1),
}
