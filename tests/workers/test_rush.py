"""There are more jobs than a worker can take at once: what it claims while its agents run, and what becomes of it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.commands import Cancel, Claim

from .serving import DEADLINE, Ask, Reply, kinds, only

# Carries a command out.
Call = Callable[[Any], Awaitable[Any]]


def watched(coordinator: bp.Coordinator, monkeypatch: pytest.MonkeyPatch, around: Callable[[Call, Any], Any]) -> None:
    """Let `around` carry the claims out."""
    acall = coordinator.store.acall

    async def watching(command: Any) -> Any:
        return await (around(acall, command) if isinstance(command, Claim) else acall(command))

    monkeypatch.setattr(coordinator.store, "acall", watching)


@pytest.mark.parametrize(("pause", "most"), [(None, 2), (0.002, 1)])
async def test_two_claims_take_turns_where_agents_are_done_at_once(
    pause: float | None, most: int, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claiming: list[int] = []
    at_once: list[int] = []

    async def around(acall: Call, command: Claim) -> Any:
        claiming.append(len(command.leases))
        at_once.append(len(claiming))
        assert sum(claiming) <= 8
        try:
            return await acall(command)
        finally:
            claiming.remove(len(command.leases))

    async def agent(ask: Ask) -> Reply:
        if pause is not None:
            await anyio.sleep(pause)
        return Reply(text=str(ask.number))

    app = only(agent)
    async with bp.connect(redis_url, app=app) as coordinator:
        jobs = [await coordinator.submit("a", Ask(number=n), returns=Reply) for n in range(60)]
        watched(coordinator, monkeypatch, around)
        async with app.worker(coordinator, concurrency=8):
            with anyio.fail_after(DEADLINE):
                assert [(await job.result()).text for job in jobs] == [str(n) for n in range(60)]
        assert {(await kinds(coordinator, job)).count("job.started") for job in jobs} == {1}
    assert max(at_once) == most


async def test_what_came_too_late_to_be_ours_is_not_started(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While an agent blocks the loop, nobody renews the leases in a reply that has not been read."""
    ran: list[int] = []

    async def agent(ask: Ask) -> Reply:
        ran.append(ask.number)
        return Reply(text="")

    async def around(acall: Call, command: Claim) -> Any:
        claimed = await acall(command)
        if claimed and not ran:
            await acall(Cancel(jobs[0].id))
            time.sleep(0.2)  # noqa: ASYNC251  # more than a quarter of the lease
        return claimed

    app = only(agent)
    async with bp.connect(redis_url, app=app) as coordinator:
        jobs = [await coordinator.submit("a", Ask(number=n), returns=Reply) for n in range(2)]
        watched(coordinator, monkeypatch, around)
        async with app.worker(coordinator, concurrency=2, lease=0.6):
            with anyio.fail_after(DEADLINE):
                await jobs[1].result()
    assert ran == [1]
