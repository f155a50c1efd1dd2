"""Agents' code that blocks its worker's event loop: the log says whose it is, and the worker still counts as live."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from types import FrameType, SimpleNamespace

import anyio
import pytest

import batonpass as bp
from batonpass.workers import standstill, upkeep
from batonpass.workers.outcomes.error_place import stands_in
from batonpass.workers.standstill import Standstill
from tests.harness.waiting import wait_until

from .agents import Task
from .blocking import app
from .processes import DEADLINE, Desk
from .serving import Ask, Reply, only, serving

_HELD_UP = " has blocked "


def _warned(desk: Desk) -> list[str]:
    return [line for line in desk.said().splitlines() if _HELD_UP in line]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("agent", ["blocks", "blocks-in-task"])
def test_it_is_told_whose_it_is_once_each_time(desk: Desk, agent: str) -> None:
    # In another task than its own, Python before 3.12 doesn't tell whose it is.
    told = agent == "blocks" or sys.version_info >= (3, 12)
    with bp.connect(desk.url, app=app) as coordinator:
        worker = desk.start(app="tests.workers.blocking:app")
        worker.wait_for("serves")
        beside = coordinator.submit("waits", Task(text="beside"))
        desk.wait_for("beside")
        for number, gate in enumerate(("one", "two"), 1):
            job = coordinator.submit(agent, Task(text=gate))
            wait_until(lambda number=number: len(_warned(desk)) == number, timeout=DEADLINE, what=desk.said())  # type: ignore[misc]
            desk.open_gate(gate)
            worker.wait_for(f"job {job.id} hop 0 {agent}: completed")
            line = _warned(desk)[-1]
            assert (f"job {job.id} hop 0 {agent}: its code" in line, 'isolation="process"' in line) == (told, told)
            assert ("code in this worker's event loop (" in line) == (not told)
            assert "code" in line.partition(" (tests/workers/agents.py:")[0]
            assert re.search(r" in (pass_gate|is_open)\) has blocked", line)
            assert beside.id not in line
            wait_until(lambda n=number: desk.said().count("the event loop goes on") == n, timeout=DEADLINE)  # type: ignore[misc]


async def test_the_worker_still_counts_as_live(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "_PRESENCE", 2.0)
    live: list[int] = []

    async def blocks(ask: Ask) -> Reply:
        over = time.monotonic() + 5.0  # the loop's own last report is older then than it counts
        wait_until(lambda: time.monotonic() > over)
        with bp.connect(store_url) as other:
            live.append(len(other.workers()))
        return Reply(text="")

    async with serving(only(blocks), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await job.result(timeout=DEADLINE)
    assert live == [1]


@asynccontextmanager
async def _at_work(url: str) -> AsyncIterator[bp.Job[Reply]]:
    """A job that only awaits, in a worker of this loop."""
    begun = asyncio.Event()

    async def innocent(ask: Ask) -> Reply:
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with serving(only(innocent), url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        await asyncio.wait_for(begun.wait(), DEADLINE)
        yield job
        await job.cancel()


def _block(caplog: pytest.LogCaptureFixture) -> None:
    wait_until(lambda: _HELD_UP in caplog.text, timeout=DEADLINE)


@pytest.mark.parametrize("by", ["the program's task", "another task", "a callback"])
async def test_code_that_is_no_jobs_is_not_blamed_on_one(
    by: str, store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A program that runs a worker may block its own loop."""
    caplog.set_level("INFO", logger="batonpass.worker")

    async def handler() -> None:
        _block(caplog)

    async with _at_work(store_url) as job:
        if by == "the program's task":
            _block(caplog)
        elif by == "another task":
            await asyncio.create_task(handler())
        else:
            asyncio.get_running_loop().call_soon(_block, caplog)
        with anyio.fail_after(DEADLINE):
            while "the event loop goes on" not in caplog.text:
                await anyio.sleep(0.01)
    [line] = [each for each in caplog.messages if _HELD_UP in each]
    assert line.startswith("code in this worker's event loop (")
    assert ".py:" in line
    assert "isolation" not in line
    assert not [each for each in caplog.messages if job.id in each and "event loop" in each]


def test_a_callback_has_no_place_below_its_loop() -> None:
    """What runs the loop does not block it."""
    taken: list[FrameType | None] = []

    async def main() -> None:
        asyncio.get_running_loop().call_soon(partial(_take, taken))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(main())
    place = stands_in(None, taken[0])
    assert place is not None
    assert place.endswith(" in _take")
    assert stands_in(None, taken[0].f_back if taken[0] else None) is None


def _take(taken: list[FrameType | None]) -> None:
    taken.append(sys._getframe())


def test_a_loop_that_does_not_run_stands_not_still(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As between two `run_until_complete`. When it runs again, its time begins anew."""
    presented: list[int] = []
    loop = asyncio.new_event_loop()

    async def watching() -> Standstill:
        return Standstill(lambda task: None, lambda: presented.append(1))

    async def blocks(watched: Standstill, times: range) -> None:
        _look(watched, times, monkeypatch)  # the loop answers at the next `await`, and there is none

    try:
        watched = loop.run_until_complete(watching())
        _look(watched, range(1, 9), monkeypatch)
        loop.run_until_complete(blocks(watched, range(9, 11)))
        assert (caplog.messages, presented) == ([], [])
        loop.run_until_complete(blocks(watched, range(11, 20)))
    finally:
        loop.close()
    _look(watched, range(20, 29), monkeypatch)
    [line] = caplog.messages
    assert _HELD_UP in line


def _look(watched: Standstill, times: range, monkeypatch: pytest.MonkeyPatch) -> None:
    for now in times:
        monkeypatch.setattr(standstill, "time", SimpleNamespace(monotonic=lambda now=now: now))
        watched.look(holding=True)
