"""An agent in a process of its own: if it is killed, hangs, is cancelled or wears out, neither its job nor its worker
is harmed."""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter

import pytest

import batonpass as bp
from batonpass.coordinator.operations.jobs import POISON
from tests.harness.waiting import wait_until

from .agents import Done, Task
from .apart import app
from .families import alive, insist, serving_apart, times, wait_for_end, who
from .processes import DEADLINE, Desk

pytestmark = pytest.mark.timeout(240)


def happened(coordinator: bp.SyncCoordinator, job: bp.SyncJob[Done]) -> list[str]:
    return [event.type.removeprefix("batonpass.") for event in coordinator.events(job=job.id)]


def test_a_killed_child_costs_the_step_in_its_middle_alone(desk: Desk) -> None:
    worker = serving_apart(desk, "steps", "--lease", "60")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("steps", Task(text="a"), returns=Done)
        first = who(desk, "a:two")
        assert first != worker.pid
        os.kill(first, signal.SIGKILL)
        times(desk, "a:two", 2)
        desk.open_gate("two")
        assert job.result(timeout=DEADLINE).words == ["a:one", "a:two", "a:three"]
        assert {what: number for what, number in desk.ran().items() if what.startswith("a:")} == {
            "a:one": 1,
            "a:two": 2,
            "a:three": 1,
        }
        assert who(desk, "a:two") not in (first, worker.pid)
        [crash] = [event.data for event in coordinator.events(job=job.id) if event.type.endswith("crashed")]
        assert crash["error"] == f"process {first} was killed by SIGKILL"
        assert job.info().attempt == 1
        assert "lease.expired" not in happened(coordinator, job)


def test_its_job_does_not_wait_behind_the_backlog(desk: Desk) -> None:
    serving_apart(desk, "steps", "--lease", "60", "--concurrency", "1")
    with bp.connect(desk.url, app=app) as coordinator:
        killed = coordinator.submit("steps", Task(text="a"), returns=Done)
        first = who(desk, "a:two")
        backlog = [coordinator.submit("steps", Task(text=text), returns=Done) for text in "bcdefg"]
        os.kill(first, signal.SIGKILL)
        desk.open_gate("two")
        for job in (killed, *backlog):
            job.result(timeout=DEADLINE)
        started = [event.subject for event in coordinator.events() if event.type.endswith("job.started")]
        # The worker may have claimed another job just when the child died.
        assert started.count(killed.id) == 2
        assert killed.id in started[1:3]


def test_a_child_that_holds_the_gil_does_not_cost_the_lease(desk: Desk) -> None:
    worker = serving_apart(desk, "hangs,pid", "--lease", "0.8")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("hangs", Task(text="a"), returns=Done)
        child = who(desk, "a:hangs")
        since = time.monotonic()
        wait_until(lambda: time.monotonic() - since > 3, what="some leases")
        other = coordinator.submit("pid", Task(), returns=Done).result(timeout=DEADLINE)
        assert other.words[0] not in (str(child), str(worker.pid))
        assert job.info().state == bp.JobState.WORKING
        assert happened(coordinator, job) == ["job.submitted", "job.started", "checkpoint.saved"]
        assert job.cancel()
        wait_for_end(child)
        assert happened(coordinator, job)[-1] == "job.canceled"
        again = coordinator.submit("hangs", Task(text="b"), returns=Done)
        assert who(desk, "b:hangs") != child
        again.cancel()


def test_the_timeout_kills_the_child(desk: Desk) -> None:
    serving_apart(desk, "slow", "--lease", "60")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("slow", Task(text="a"), returns=Done)
        child = who(desk, "a:hangs")
        wait_for_end(child)
        times(desk, "a:hangs", 2)
        with pytest.raises(bp.JobFailed, match=r"longer than its timeout of 5 s") as failed:
            job.result(timeout=DEADLINE)
        assert failed.value.reason == "attempts"
        assert desk.ran()["a:one"] == 1
        assert happened(coordinator, job).count("job.retrying") == 1
        assert "job.crashed" not in happened(coordinator, job)


def test_after_the_last_timeout_the_job_goes_on_at_the_fallback(desk: Desk) -> None:
    serving_apart(desk, "hopeless,pid", "--lease", "60")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("hopeless", Task(text="a"), returns=Done)
        child = who(desk, "a:hangs")
        assert job.result(timeout=DEADLINE).words[0] != str(child)
        [handed] = [event.data for event in coordinator.events(job=job.id) if event.type.endswith("handed_off")]
        assert handed["reason"] == "fallback"
        assert job.info().spent.tokens == 100  # by the process that was killed


def test_after_a_timeout_within_an_effect_no_fallback_repeats_it(desk: Desk) -> None:
    serving_apart(desk, "hopeless,pid", "--lease", "60")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("hopeless", Task(text="pays"), returns=Done)
        with pytest.raises(bp.JobFailed, match="its outcome is unknown: look for") as failed:
            job.result(timeout=DEADLINE)
        assert (failed.value.reason, job.info().spent.tokens) == ("ambiguous", 100)


def test_a_job_that_kills_its_processes_is_parked(desk: Desk) -> None:
    serving_apart(desk, "dies,pid", "--lease", "60")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("dies", Task(), returns=Done)
        insist(job)
        with pytest.raises(bp.JobFailed) as failed:
            job.result(timeout=DEADLINE)
        assert failed.value.reason == "poison"
        assert re.search(r"; the last: process \d+ was killed by SIGSEGV$", failed.value.error)
        assert desk.ran()["dies"] == POISON
        assert happened(coordinator, job).count("job.crashed") == POISON - 1
        assert coordinator.submit("pid", Task(), returns=Done).result(timeout=DEADLINE)


def test_a_child_runs_many_jobs_and_is_replaced_after_enough(desk: Desk) -> None:
    serving_apart(desk, "pid", "--concurrency", "1", "--child-jobs", "3")
    with bp.connect(desk.url, app=app) as coordinator:
        pids = [coordinator.submit("pid", Task(), returns=Done).result(timeout=DEADLINE).words[0] for _ in range(7)]
    assert sorted(Counter(pids).values()) == [1, 3, 3]
    gone = {int(pid) for pid in pids} - {int(pids[-1])}
    wait_for_end(*gone)
    assert alive(int(pids[-1]))
    assert desk.ran()["left"] == 2  # their lifespans ended in order


def test_a_child_that_grew_is_replaced(desk: Desk) -> None:
    serving_apart(desk, "pid", "--concurrency", "1", "--child-memory", "400")
    with bp.connect(desk.url, app=app) as coordinator:
        pids = [
            coordinator.submit("pid", Task(seconds=size), returns=Done).result(timeout=DEADLINE).words[0]
            for size in (1, 500, 1)
        ]
    assert pids[0] == pids[1] != pids[2]


def test_a_thread_that_is_left_behind_does_not_keep_a_child(desk: Desk) -> None:
    worker = serving_apart(desk, "leaves-a-thread")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("leaves-a-thread", Task(), returns=Done)
        child = int(job.result(timeout=DEADLINE).words[0])
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0
    wait_for_end(child)


@pytest.mark.parametrize("came_further", [False, True])
def test_a_job_that_is_left_for_now_is_not_run_again_at_once(desk: Desk, came_further: bool) -> None:
    """Though its child gave it back, and the worker has room for it."""
    serving_apart(desk, "meets-no-archive,pid", "--lease", "60")
    with bp.connect(desk.url, app=app) as coordinator:
        left = [coordinator.submit("meets-no-archive", Task(text=text, seconds=came_further)) for text in "abcdefgh"]
        for text in "abcdefgh":
            times(desk, f"{text}:away", 1)
        wait_until(lambda: all(job.info().state == "submitted" for job in left))
        for _ in range(3):
            coordinator.submit("pid", Task(text="z"), returns=Done).result(timeout=DEADLINE)
        assert [desk.ran()[f"{text}:away"] for text in "abcdefgh"] == [1] * 8
