"""What dies under a job: its worker, its store. The job goes on from its last checkpoint."""

from __future__ import annotations

import signal
import time
from collections import Counter
from pathlib import Path

import anyio
import pytest

import batonpass as bp
from batonpass.testing.serving import claimed
from batonpass.workers.session import LeaseSession
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until

from .agents import Done, Task, app
from .processes import DEADLINE, Desk

WORDS = ["a:one", "a:two", "a:three"]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("agent", ["steps", "sync"])
def test_another_worker_takes_over_what_a_killed_one_left(
    desk: Desk, agent: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the default lease. On an idle machine a takeover needs at most 6 s; here the time is printed, not judged."""
    first = desk.serving(agent)
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit(agent, Task(text="a"), returns=Done)
        desk.wait_for("a:two")
        second = desk.serving(agent)
        first.send(signal.SIGKILL)
        killed = time.monotonic()
        wait_until(lambda: desk.ran()["a:two"] == 2, timeout=DEADLINE, what="the takeover")
        seconds = time.monotonic() - killed
        desk.open_gate("two")
        assert job.result(timeout=30).words == WORDS
        started = [event for event in coordinator.events(job=job.id) if event.type == "batonpass.job.started"]
        assert [event.data["token"] for event in started] == sorted({event.data["token"] for event in started})
        assert [event.data["attempt"] for event in started] == [1, 1]
    assert desk.ran() == Counter({"a:one": 1, "a:two": 2, "a:three": 1})
    assert [pid for pid, _ in desk.lines()] == [first.pid, first.pid, second.pid, second.pid]
    with capsys.disabled():
        request.config.get_terminal_writer().line(f" takeover after SIGKILL: {seconds:.1f} s")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("agent", ["steps", "sync"])
def test_a_job_outlives_a_restart_of_redis(agent: str, own_redis: RedisServer, tmp_path: Path) -> None:
    desk = Desk(own_redis.url, tmp_path)
    try:
        desk.serving(agent)
        with bp.connect(desk.url, app=app) as coordinator:
            job = coordinator.submit(agent, Task(text="a"), returns=Done)
            desk.wait_for("a:two")
            own_redis.kill()
            desk.open_gate("two")  # its next write finds no server
            with pytest.raises(bp.Unreachable):
                job.info()
            own_redis.start()
            assert job.result(timeout=DEADLINE).words == WORDS, desk.said()
            assert job.info().attempt == 1
        assert desk.ran() == Counter(WORDS)
    finally:
        desk.close()


async def test_what_could_not_be_written_is_not_taken_for_written(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a store has been away for too long, the step's code is told."""
    monkeypatch.setattr("batonpass.workers.pauses.PATIENCE", 0.1)
    monkeypatch.setattr("batonpass.coordinator.redis.patience.WITHIN", 0.6)
    async with bp.connect(f"{own_redis.url}?socket_timeout=0.3", app=app) as coordinator:
        await coordinator.submit("steps", Task(text="a"))
        store = coordinator.store
        session = LeaseSession(store, await claimed(coordinator, app["steps"]))
        own_redis.kill()
        with pytest.raises(bp.Unreachable):
            await session.arecord({"a": 1})
        with pytest.raises(bp.Unreachable):
            await anyio.to_thread.run_sync(session.record, {"b": 1})
        assert session.journal == {}
        own_redis.start()
        await session.arecord({"c": 1})
        assert session.journal == {"c": 1}


@pytest.mark.timeout(240)
def test_an_idle_worker_outlives_a_restart_of_redis(own_redis: RedisServer, tmp_path: Path) -> None:
    desk = Desk(own_redis.url, tmp_path)
    desk.open_gate("two")
    try:
        worker = desk.serving("steps")
        own_redis.kill()
        worker.wait_for("trying again")
        own_redis.start()
        with bp.connect(desk.url, app=app) as coordinator:
            assert coordinator.submit("steps", Task(text="a"), returns=Done).result(timeout=DEADLINE).words == WORDS
    finally:
        desk.close()


@pytest.mark.timeout(240)
def test_a_worker_that_starts_before_its_store_says_so_and_ends(own_redis: RedisServer, tmp_path: Path) -> None:
    """What started it (compose, systemd) starts it again."""
    desk = Desk(own_redis.url, tmp_path)
    own_redis.kill()
    try:
        early = desk.start("--agents", "steps")
        assert early.exit_code() == 2
        [line] = early.said().splitlines()
        assert line.startswith(f"batonpass: no Redis at {own_redis.url}")
        own_redis.start()
        desk.serving("steps")
    finally:
        desk.close()


@pytest.mark.timeout(240)
def test_a_question_outlives_the_worker_that_asked_it(desk: Desk) -> None:
    first = desk.serving("asks")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("asks", Task(text="a"), returns=Done)
        wait_until(lambda: bool(coordinator.inbox()), timeout=DEADLINE, what=f"the question\n{desk.said()}")
        first.kill()
        [item] = coordinator.inbox(assignee="ann")
        coordinator.answer(item.id, {"word": "yes"})
        desk.serving("asks")
        assert job.result(timeout=DEADLINE).words == ["a:before", "a:yes"]
    assert desk.ran() == Counter({"a:before": 1, "a:yes": 1})
