"""Real worker processes on a cluster: jobs of all partitions run, and survive their worker."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import batonpass as bp
from batonpass.contracts.names import partition_of
from batonpass.workers import claiming, upkeep
from tests.harness.waiting import wait_until
from tests.workers.agents import Done, Task, app
from tests.workers.processes import DEADLINE, Desk
from tests.workers.serving import Ask, Reply, only, serving


@pytest.fixture
def desk(cluster_url: str, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(cluster_url, tmp_path)
    yield made
    made.close()


@pytest.mark.timeout(240)
def test_jobs_of_all_partitions_run_once(desk: Desk) -> None:
    desk.open_gate("two")
    for _ in range(2):
        desk.serving("steps")
    with bp.connect(desk.url, app=app) as coordinator:
        jobs = [coordinator.submit("steps", Task(text=str(n)), returns=Done) for n in range(80)]
        assert [job.result(timeout=60).words[0] for job in jobs] == [f"{n}:one" for n in range(80)]
        assert len({partition_of(job.id) % 16 for job in jobs}) > 12
        assert len(coordinator.jobs(state="completed", limit=100)) == 80
        assert Counter(event.type for event in coordinator.events())["batonpass.job.completed"] == 80
        assert [worker.agents for worker in coordinator.workers()] == [("steps",)] * 2  # each once
    assert set(desk.ran().values()) == {1}


@pytest.mark.timeout(240)
def test_another_worker_takes_over_what_a_killed_one_left(desk: Desk) -> None:
    first = desk.serving("sync", "--concurrency", "4")
    with bp.connect(desk.url, app=app) as coordinator:
        jobs = [coordinator.submit("sync", Task(text=str(n)), returns=Done) for n in range(4)]
        wait_until(lambda: sum(what.endswith("two") for what in desk.ran()) == 4, timeout=DEADLINE, what="four")
        first.send(signal.SIGKILL)
        desk.start("--agents", "sync", "--concurrency", "4")
        desk.open_gate("two")
        assert [job.result(timeout=60).words[2] for job in jobs] == [f"{n}:three" for n in range(4)]
    ran = desk.ran()
    assert {ran[f"{n}:one"] for n in range(4)} == {1}, "a finished step is not run again"
    assert {ran[f"{n}:two"] for n in range(4)} == {2}


async def test_what_is_due_soon_is_told_to_an_idle_worker(cluster_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "_PAUSE", 300.0)
    monkeypatch.setattr(claiming, "_LOOK", 300.0)

    async def fails_once(ask: Ask, ctx: bp.Context) -> Reply:
        if ctx.attempt == 1:
            raise bp.RetryLater(0.1)
        return Reply(text="done")

    async with serving(only(fails_once, lease=300), cluster_url) as coordinator:
        for delay in (0, 0.2):
            job = await coordinator.submit("a", Ask(), returns=Reply, delay=delay)
            assert (await job.result(timeout=30)).text == "done"
