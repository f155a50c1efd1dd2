"""Agents' code that blocks its worker's event loop: the log says whose it is, and the worker still counts as live."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import pytest

import batonpass as bp
from batonpass.workers import standstill, upkeep
from batonpass.workers.standstill import Standstill
from tests.harness.waiting import wait_until

from .agents import Task
from .blocking import app
from .processes import DEADLINE, Desk
from .serving import Ask, Reply, only, serving

_HELD_UP = "has blocked this worker's event loop"


def _warned(desk: Desk) -> list[str]:
    return [line for line in desk.said().splitlines() if _HELD_UP in line]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("agent", ["blocks", "blocks-in-task"])
def test_it_is_told_whose_it_is_once_each_time(desk: Desk, agent: str) -> None:
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
            assert f"job {job.id} hop 0 {agent}" in line
            assert "its code (tests/workers/agents.py:" in line
            assert " in pass_gate) has blocked" in line
            assert "belongs in a plain `def`" in line
            # In another task than its own, Python before 3.12 doesn't tell whose it is.
            assert (beside.id not in line) == (agent == "blocks" or sys.version_info >= (3, 12))
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


async def test_code_that_is_no_agents_is_not_blamed(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that runs a worker may block its own loop."""
    presented: list[int] = []
    watched = Standstill(lambda task: [], lambda: presented.append(1))
    for now in range(1, 9):
        monkeypatch.setattr(standstill, "time", SimpleNamespace(monotonic=lambda now=now: now))
        watched.look(holding=True)  # the loop answers at the next `await`, and there is none
    assert (caplog.messages, presented) == ([], [])
