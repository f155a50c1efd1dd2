"""When a terminal closes, its workers drain, unless nohup keeps them. And log lines name the namespace."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest

import batonpass as bp

from .agents import Done, Task
from .apart import app
from .families import APP, children, serving_apart, who
from .processes import DEADLINE, Desk

PIECES = ("one", "two", "three")
pytestmark = pytest.mark.timeout(240)


def test_sighup_drains_as_sigterm_does(desk: Desk) -> None:
    """Also when the signal comes twice, from the shell and from the terminal, to all processes of the worker."""
    options = ("--lease", "60", "--namespace", "a%s\n")
    first = serving_apart(desk, "steps", *options)
    with bp.connect(desk.url, namespace="a%s\n", app=app) as coordinator:
        job = coordinator.submit("steps", Task(text="a"), returns=Done)
        child = who(desk, "a:two")
        first.send(signal.SIGHUP)
        first.wait_for("stopping")
        for pid in (child, *children(first.pid), first.pid):
            os.kill(pid, signal.SIGHUP)
        desk.open_gate("two")
        assert first.exit_code() == 0, first.said()
        assert [event.type for event in coordinator.events(job=job.id)][-1] == "batonpass.job.released"
        second = serving_apart(desk, "steps", *options)
        assert job.result(timeout=DEADLINE).words == [f"a:{piece}" for piece in PIECES]
        second.wait_for(f"{job.id} hop 0 steps: completed")
    ran = Counter({what: number for what, number in desk.ran().items() if ":" in what})
    assert ran == Counter(f"a:{piece}" for piece in PIECES)
    lines = second.said().splitlines()
    assert all(" INFO    [a%s\\n] " in line for line in lines), lines


def test_a_worker_of_nohup_goes_on(desk: Desk) -> None:
    worker = desk.start("--agents", "steps", "--concurrency", "1", app=APP, ignore=["SIGHUP"])
    worker.wait_for("serves")
    desk.open_gate("two")
    with bp.connect(desk.url, app=app) as coordinator:
        assert coordinator.submit("steps", Task(text="a"), returns=Done).result(timeout=DEADLINE)
        for pid in (who(desk, "a:two"), *children(worker.pid), worker.pid):
            os.kill(pid, signal.SIGHUP)
        assert coordinator.submit("steps", Task(text="b"), returns=Done).result(timeout=DEADLINE)
        assert who(desk, "b:two") == who(desk, "a:two")
    assert "stopping" not in worker.said()
