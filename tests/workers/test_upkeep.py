"""Upkeep: when a worker takes away leases that have expired."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

import batonpass as bp
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


async def kept_up(store: Any, worker: str, clock: Any, until: anyio.Event) -> None:
    """Do a worker's upkeep until something has happened."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(upkeep.keep_up, store, worker, (QUEUE,), Nap(clock))
        with anyio.fail_after(60):
            await until.wait()
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("since", "slow", "looks"),
    [
        (60.0, False, [False, True]),
        (60.0, True, [False, False, True]),
        (0.0, False, [False, False, True]),
        (1.0, True, [False, False, True]),
    ],
    ids=["usual", "slow", "just started", "slow soon after the start"],
)
async def test_the_round_that_finds_an_expired_lease_leaves_it_to_its_holder(
    monkeypatch: pytest.MonkeyPatch, since: float, slow: bool, looks: list[bool]
) -> None:
    """The store may have stood still while that look waited there, in front of heartbeats. A pause also follows a look
    that was answered late, and the start of a worker: the store may have been away."""
    store, clock, asked, taken = open_store("memory://"), Clock(), list[bool](), anyio.Event()
    await store.acall(new_job())
    acall = store.acall

    async def expired() -> None:
        [delivery] = await acall(c.Claim("w", ((QUEUE, 1),), (mint("l"),)))
        assert delivery.job.worker == "w"
        while await acall(c.Reap(leases=False)) != c.Reaped(0, 0):
            await anyio.sleep(0.001)

    async def looked(command: c.Command[Any]) -> Any:
        if not isinstance(command, c.Reap):
            return await acall(command)
        begun = clock.now >= since
        if begun and not asked:
            await expired()
        answer = await acall(command)
        clock.now += 10 if slow and begun and not asked else 1
        if begun:
            asked.append(command.leases)
        if answer.moved:
            taken.set()
        return answer

    monkeypatch.setattr(store, "acall", looked)
    monkeypatch.setattr(upkeep, "time", clock)
    await kept_up(store, "other", clock, taken)
    assert asked == looks


async def test_leases_of_a_partition_that_came_back_have_a_grace_period(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The leases of other partitions are taken as always."""
    store, clock, asked, over = open_store("memory://"), Clock(), list[tuple[int, ...] | None](), anyio.Event()
    away: list[dict[int, Exception]] = [{}, {3: bp.Unreachable("gone")}, {3: bp.Unreachable("gone")}, {}, {}, {}, {}]

    async def looked(command: c.Command[Any]) -> Any:
        if isinstance(command, c.Reap):
            asked.append(command.spared)
            clock.now += 1
            if len(asked) == len(away):
                over.set()
            return c.Reaped(0, -1, away=away[min(len(asked), len(away)) - 1])
        return 0

    monkeypatch.setattr(store, "acall", looked)
    monkeypatch.setattr(upkeep, "time", clock)
    await kept_up(store, "w", clock, over)
    assert asked[: len(away)] == [(), (), (3,), (3,), (3,), (), ()]
