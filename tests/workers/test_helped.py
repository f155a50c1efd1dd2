"""Processes that an agent's code forks (a `multiprocessing.Pool`) can be ended, and the worker is not told to stop."""

from __future__ import annotations

import signal

import pytest

import batonpass as bp

from .agents import Done, Task
from .helped import app
from .processes import DEADLINE, Desk


@pytest.mark.parametrize("agent", ["process", "thread", "task"])
def test_a_signal_to_a_helper_ends_it_alone(agent: str, desk: Desk) -> None:
    worker = desk.start("--agents", agent, app="tests.workers.helped:app")
    worker.wait_for("serves")
    with bp.connect(desk.url, app=app) as coordinator:
        for _ in range(3):
            job = coordinator.submit(agent, Task(), returns=Done)
            assert job.result(timeout=DEADLINE).words == [str(-signal.SIGTERM)]
    assert "stopping" not in worker.said()
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0
