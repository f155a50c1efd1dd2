"""Upkeep: when a worker takes expired leases from their holders."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.urls import open_store
from batonpass.workers import upkeep
from tests.harness.bench import new_job, new_target

QUEUE = new_target().queue


class Clock:
    """The worker's. Each look at the store takes a second of it, or ten."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Nap(upkeep.Alarm):
    """Sleeps by that clock alone."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    async def sleep(self, seconds: float) -> None:
        self.clock.now += seconds
        await checkpoint()


@pytest.mark.parametrize(("slow", "looks"), [(False, [False, True]), (True, [False, False, True])])
async def test_a_lease_is_left_to_its_holder_by_the_look_that_finds_it_expired(
    monkeypatch: pytest.MonkeyPatch, slow: bool, looks: list[bool]
) -> None:
    """That look may have lain at a store that stood still, before the heartbeats that lay there with it. After one that
    was answered late there is a pause, too."""
    store, clock, asked, taken = open_store("memory://"), Clock(), list[bool](), anyio.Event()
    await store.acall(new_job())
    [delivery] = await store.acall(c.Claim("w", ((QUEUE, 1),), (mint("l"),)))
    while await store.acall(c.Reap(leases=False)) != c.Reaped(0, 0):
        await anyio.sleep(0.001)
    acall = store.acall

    async def looked(command: c.Command[Any]) -> Any:
        answer = await acall(command)
        if isinstance(command, c.Reap):
            clock.now += 10 if slow and not asked else 1
            asked.append(command.leases)
            if answer.moved:
                taken.set()
        return answer

    monkeypatch.setattr(store, "acall", looked)
    monkeypatch.setattr(upkeep, "time", clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(upkeep.keep_up, store, "other", (QUEUE,), Nap(clock))
        with anyio.fail_after(60):
            await taken.wait()
        tasks.cancel_scope.cancel()
    assert asked == looks
    assert delivery.job.worker == "w"
