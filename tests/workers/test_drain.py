"""A worker process that is told to stop gives its jobs back, and nothing that was finished runs again."""

from __future__ import annotations

import signal
import time
from collections import Counter

import pytest

import batonpass as bp
from tests.harness.waiting import wait_until

from .agents import Done, Task, app
from .processes import Desk

PIECES = ("one", "two", "three")


def types(coordinator: bp.SyncCoordinator, job: bp.SyncJob[Done]) -> list[str]:
    return [event.type.removeprefix("batonpass.") for event in coordinator.events(job=job.id)]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("agent", ["steps", "sync", "swallows", "swallows-all"])
def test_sigterm_gives_the_job_back_at_its_next_checkpoint(desk: Desk, agent: str) -> None:
    """Also if the agent's code catches what tells it to stop, as any error."""
    first = desk.serving(agent, "--lease", "30")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit(agent, Task(text="a"), returns=Done)
        desk.wait_for("a:two")
        waiting = coordinator.submit(agent, Task(text="b"), returns=Done)
        desk.wait_for("b:two")
        first.send(signal.SIGTERM)
        first.wait_for("stopping")
        late = coordinator.submit(agent, Task(text="c"), returns=Done)
        desk.open_gate("two")
        assert first.exit_code() == 0, first.said()
        assert (job.info().state, job.info().reason) == (bp.JobState.SUBMITTED, "ready")
        assert desk.ran() == Counter(["a:one", "a:two", "b:one", "b:two"])

        second = desk.serving(agent)
        for each, text in ((job, "a"), (waiting, "b"), (late, "c")):
            assert each.result(timeout=30).words == [f"{text}:{piece}" for piece in PIECES]
        second.send(signal.SIGINT)
        assert second.exit_code() == 0, second.said()
        assert types(coordinator, job).count("job.released") == 1
        assert "lease.expired" not in types(coordinator, job)
        assert job.info().attempt == 1
    assert desk.ran() == Counter(f"{text}:{piece}" for text in "abc" for piece in PIECES)
    assert ([pid for pid, what in desk.lines() if what == "a:three"]) == [second.pid]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("agent", ["steps", "sync", "threaded"])
def test_a_second_signal_gives_the_job_back_at_once(desk: Desk, agent: str) -> None:
    first = desk.serving(agent, "--lease", "60")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit(agent, Task(text="a"), returns=Done)
        desk.wait_for("a:two")
        first.send(signal.SIGTERM)
        first.wait_for("stopping")
        sent = time.monotonic()
        first.send(signal.SIGTERM)
        first.exit_code()
        assert time.monotonic() - sent < 20
        assert (job.info().state, job.info().reason) == (bp.JobState.SUBMITTED, "ready"), first.said()
        assert types(coordinator, job)[-1] == "job.released"

        desk.serving(agent)
        desk.open_gate("two")
        assert job.result(timeout=30).words[:2] == ["a:one", "a:two"]
    assert (desk.ran()["a:one"], desk.ran()["a:two"]) == (1, 2)


@pytest.mark.timeout(240)
def test_the_grace_ends_the_waiting_for_a_checkpoint(desk: Desk) -> None:
    first = desk.serving("steps", "--lease", "1m", "--grace", "0.5s")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("steps", Task(text="a"), returns=Done)
        desk.wait_for("a:two")
        first.send(signal.SIGTERM)
        assert first.exit_code() == 0, first.said()
        assert types(coordinator, job)[-1] == "job.released"


@pytest.mark.timeout(240)
def test_an_idle_worker_ends_at_once(desk: Desk) -> None:
    worker = desk.serving("steps")
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0


@pytest.mark.timeout(120)
def test_code_that_blocks_the_loop_does_not_keep_the_process(desk: Desk) -> None:
    """It can't give its jobs back, so their leases expire."""
    first = desk.serving("blocks-loop", "--lease", "1", "--grace", "0")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("blocks-loop", Task(text="a", seconds=60), returns=Done)
        desk.wait_for("a")
        first.send(signal.SIGTERM)
        assert first.exit_code() == 1
        desk.serving("blocks-loop")
        wait_until(lambda: desk.ran()["a"] == 2, timeout=40, what="a takeover")
        assert "lease.expired" in types(coordinator, job)
