"""An end that was written but not answered yet is neither a lost lease nor a late attempt, whatever a worker hears
meanwhile."""

from __future__ import annotations

import signal

import pytest

import batonpass as bp
from tests.harness.waiting import wait_until

from .agents import Done, Task
from .apart import app
from .families import alive, serving_apart, times, wait_for_end, who
from .processes import DEADLINE, Desk

pytestmark = pytest.mark.timeout(240)


def test_a_heartbeat_that_hears_of_the_own_end_first(desk: Desk) -> None:
    """Both in the worker and in a child. A second job of that worker shows that the time of an attempt is over (its
    second attempt began), and that a heartbeat came after both ends (that job is canceled, and its child killed)."""
    worker = serving_apart(desk, "ends,ends-apart,slow", "--lease", "0.8")
    with bp.connect(desk.url, app=app) as coordinator:
        jobs = {name: coordinator.submit(name, Task(), returns=Done) for name in ("ends", "ends-apart")}
        child = [who(desk, f"{name}:written") for name in jobs][-1]
        other = coordinator.submit("slow", Task(text="b"))
        times(desk, "b:hangs", 2)
        other.cancel()
        wait_for_end(who(desk, "b:hangs"))
        worker.wait_for(f"job {other.id} hop 0 slow: canceled")
        assert alive(child)
        desk.open_gate("answer")
        for name, job in jobs.items():
            worker.wait_for(f"job {job.id} hop 0 {name}: completed")
            assert job.result(timeout=0).words
            assert [line for line in worker.said().splitlines() if job.id in line][-1].endswith("completed")
        assert alive(child)
    assert "stopped, the lease" not in worker.said()


def test_a_child_ends_while_its_workers_loop_is_blocked(desk: Desk) -> None:
    """What the child has sent is not read yet when the heartbeat comes."""
    worker = serving_apart(desk, "steps,blocks-loop", "--lease", "0.8")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("steps", Task(text="a"), returns=Done)
        desk.wait_for("a:two")
        blocking = coordinator.submit("blocks-loop", Task(), returns=Done)
        desk.wait_for("blocks-loop")
        desk.open_gate("two")
        assert job.result(timeout=DEADLINE).words == ["a:one", "a:two", "a:three"]
        for _ in range(2):
            before = blocking.info().lease
            wait_until(lambda before=before: blocking.info().lease != before, what="a heartbeat")  # type: ignore[misc]
        desk.open_gate("unblock")
        assert blocking.result(timeout=DEADLINE).words == []
        worker.send(signal.SIGTERM)
        assert worker.exit_code() == 0
    assert "stopped" not in worker.said().partition("stopping: ")[0], worker.said()
