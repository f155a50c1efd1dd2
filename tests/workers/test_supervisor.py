"""The worker as a supervisor: it drains its children, they do not outlive it, and it outlives its zygote."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import batonpass as bp
from batonpass.workers.children.start import ChildProcess

from . import agents, apart
from .agents import Done, Task
from .apart import app
from .families import children, serving_apart, times, wait_for_end, who
from .processes import DEADLINE, Desk

pytestmark = pytest.mark.timeout(240)
PIECES = ["one", "two", "three"]


def happened(coordinator: bp.SyncCoordinator, job: bp.SyncJob[Done]) -> list[str]:
    return [event.type.removeprefix("batonpass.") for event in coordinator.events(job=job.id)]


def test_sigterm_has_children_give_back_at_their_next_checkpoint(desk: Desk) -> None:
    first = serving_apart(desk, "steps", "--lease", "60")
    with bp.connect(desk.url, app=app) as coordinator:
        jobs = {text: coordinator.submit("steps", Task(text=text), returns=Done) for text in "ab"}
        pids = {who(desk, f"{text}:two") for text in jobs}
        assert len(pids) == 2
        first.send(signal.SIGTERM)
        first.wait_for("stopping")
        desk.open_gate("two")
        assert first.exit_code() == 0, first.said()
        wait_for_end(*pids)
        for job in jobs.values():
            assert happened(coordinator, job)[-1] == "job.released"
        serving_apart(desk, "steps")
        for text, job in jobs.items():
            assert job.result(timeout=DEADLINE).words == [f"{text}:{piece}" for piece in PIECES]
    ran = Counter({what: number for what, number in desk.ran().items() if ":" in what})
    assert ran == Counter(f"{text}:{piece}" for text in jobs for piece in PIECES)


def test_a_second_sigterm_kills_the_children(desk: Desk) -> None:
    first = serving_apart(desk, "hangs", "--lease", "60")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("hangs", Task(text="a"), returns=Done)
        child = who(desk, "a:hangs")
        first.send(signal.SIGTERM)
        first.wait_for("stopping")
        sent = time.monotonic()
        first.send(signal.SIGTERM)
        assert first.exit_code() == 0
        assert time.monotonic() - sent < 25
        wait_for_end(child)
        assert happened(coordinator, job)[-1] == "job.released"
        desk.open_gate("hang")
        serving_apart(desk, "hangs")
        assert job.result(timeout=DEADLINE).words == ["a:one"]
    assert desk.ran()["a:one"] == 1


def test_a_signal_to_all_its_processes_is_the_workers_to_decide(desk: Desk) -> None:
    """A service manager sends a signal to every process of a service."""
    first = serving_apart(desk, "steps", "--lease", "60")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("steps", Task(text="a"), returns=Done)
        child = who(desk, "a:two")
        [zygote] = children(first.pid)
        for each in (zygote, child, first.pid):
            os.kill(each, signal.SIGTERM)
        first.wait_for("stopping")
        desk.open_gate("two")
        assert first.exit_code() == 0
        assert happened(coordinator, job)[-1] == "job.released"
        assert "job.crashed" not in happened(coordinator, job)


def test_children_end_with_their_worker_and_another_one_takes_over(desk: Desk) -> None:
    first = serving_apart(desk, "steps,hangs", "--lease", "1")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("steps", Task(text="a"), returns=Done)
        coordinator.submit("hangs", Task(text="b"))
        child, hanging = who(desk, "a:two"), who(desk, "b:hangs")
        [zygote] = children(first.pid)
        others = children(zygote)
        first.kill()
        wait_for_end(child, hanging, zygote, *others)
        serving_apart(desk, "steps")
        times(desk, "a:two", 2)
        desk.open_gate("two")
        assert job.result(timeout=DEADLINE).words == [f"a:{piece}" for piece in PIECES]
        assert "lease.expired" in happened(coordinator, job)
    assert desk.ran()["a:one"] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="needs a kernel that tells of a parent's end")
def test_a_zygote_ends_with_its_worker_in_the_middle_of_an_import(desk: Desk) -> None:
    worker = desk.start("--agents", "steps", app="tests.workers.apart_slow:app")
    zygote = who(desk, "imports")
    worker.kill()
    wait_for_end(zygote)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a kernel that tells of a parent's end")
def test_a_spawned_child_whose_code_lets_no_thread_run_ends_with_its_worker(desk: Desk) -> None:
    worker = serving_apart(desk, "hangs", app="tests.workers.apart_threads:app")
    with bp.connect(desk.url, app=app) as coordinator:
        coordinator.submit("hangs", Task(text="a"))
    child = who(desk, "a:hangs")
    worker.kill()
    wait_for_end(child)


def test_a_dead_zygote_is_replaced_and_its_children_go_on(desk: Desk) -> None:
    worker = serving_apart(desk, "steps,pid", "--lease", "60", "--concurrency", "2")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("steps", Task(text="a"), returns=Done)
        child = who(desk, "a:two")
        [zygote] = children(worker.pid)
        os.kill(zygote, signal.SIGKILL)
        worker.wait_for("starting another one")
        desk.open_gate("two")
        assert job.result(timeout=DEADLINE).words == [f"a:{piece}" for piece in PIECES]
        assert who(desk, "a:three") == child
        os.kill(child, signal.SIGKILL)
        wait_for_end(child)
        pids = {coordinator.submit("pid", Task(), returns=Done).result(timeout=DEADLINE).words[0] for _ in range(3)}
        assert str(child) not in pids
        [second] = children(worker.pid)
        assert second != zygote


def test_a_frozen_zygote_is_replaced_and_its_children_continue(desk: Desk) -> None:
    """The child it was asked for comes from the next zygote. It is neither a crash nor an attempt of the job."""
    worker = serving_apart(desk, "steps,pid", "--concurrency", "2", "--child-jobs", "1")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("steps", Task(text="a"), returns=Done)
        child = who(desk, "a:two")
        [zygote] = children(worker.pid)
        os.kill(zygote, signal.SIGSTOP)
        others = [coordinator.submit("pid", Task(), returns=Done) for _ in range(3)]  # one is kept warm
        began = time.monotonic()
        for each in others:
            each.result(timeout=DEADLINE)
            assert happened(coordinator, each) == ["job.submitted", "job.started", "job.completed"]
        assert time.monotonic() - began < 60
        wait_for_end(zygote)
        desk.open_gate("two")
        assert job.result(timeout=DEADLINE).words == [f"a:{piece}" for piece in PIECES]
        assert who(desk, "a:three") == child


async def test_a_child_that_was_never_born_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A zygote that dies before it forks leaves a child without a number: 0 would mean every process of our group."""
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
    ChildProcess(lambda child: None).kill()
    assert killed == []


def test_children_are_spawned_where_the_import_starts_threads(desk: Desk) -> None:
    """One is kept warm: it replaces a child that dies, and another one is warmed up."""
    worker = serving_apart(desk, "steps", "--lease", "60", "--concurrency", "1", app="tests.workers.apart_native:app")
    assert "children are spawned" in worker.said()
    assert "DeprecationWarning" not in worker.said()
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("steps", Task(text="a"), returns=Done)
        child = who(desk, "a:two")
        times(desk, "lifespan", 2)
        [spare] = {*children(worker.pid)} - {child}
        os.kill(child, signal.SIGKILL)
        times(desk, "a:two", 2)
        assert who(desk, "a:two") == spare
        times(desk, "lifespan", 3)
        assert who(desk, "lifespan") in {*children(worker.pid)} - {spare}
        desk.open_gate("two")
        assert job.result(timeout=DEADLINE).words == [f"a:{piece}" for piece in PIECES]
        [crash] = [event.data for event in coordinator.events(job=job.id) if event.type.endswith("crashed")]
        assert crash["error"] == f"process {child} was killed by SIGKILL"
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0
    assert not children(worker.pid)


async def test_in_a_users_process_all_runs_there(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "batonpass.worker")
    monkeypatch.setenv("BATONPASS_TEST_LOG", str(tmp_path / "log"))
    async with bp.connect(store_url, app=app) as coordinator, app.worker(coordinator, agents=["pid", "dies"]):
        job = await coordinator.submit("pid", Task(), returns=Done)
        assert (await job.result(timeout=DEADLINE)).words[0] == str(os.getpid())
    assert caplog.text.count("pid, dies: run in this process") == 1


@pytest.mark.parametrize(
    ("kind", "isolation", "refused"),
    [
        ("sync", "task", "plain def runs as 'thread'"),
        ("async", "thread", "'task'"),
        ("async", "elsewhere", "elsewhere"),
    ],
)
def test_an_isolation_that_does_not_fit_is_refused(kind: str, isolation: str, refused: str) -> None:
    fn = agents.sync.fn if kind == "sync" else agents.steps.fn
    options = {"accepts": Task, "returns": Done, "isolation": isolation}
    with pytest.raises(bp.BadSetup, match=refused):
        bp.App("odd").agent("a", **options)(fn)  # type: ignore[call-overload]


def test_crews_have_processes_of_their_own_by_default() -> None:
    assert agents.crew.isolated
    assert not agents.graph.isolated
    assert not agents.steps.isolated
    assert apart.steps.isolated
