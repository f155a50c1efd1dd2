"""A worker that is killed while its job waits for children, or stages them: nothing is lost or made twice."""

from __future__ import annotations

import signal
import sqlite3
from collections import Counter
from contextlib import closing
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import redis

import batonpass as bp
from tests.harness.waiting import wait_until

from .agents import Done, Task, app
from .processes import DEADLINE, Desk


@pytest.mark.each_store
@pytest.mark.timeout(240)
def test_killed_while_it_waits(desk: Desk) -> None:
    """The children go on at another worker from their steps, and so does the parent."""
    first = desk.serving("parent,child")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("parent", Task(text="a", seconds=3), returns=Done)
        for label in ("a0:one", "a1:one", "a2:one"):
            desk.wait_for(label)
        assert job.info().reason == "waiting_children"
        first.send(signal.SIGKILL)
        desk.serving("parent,child")
        wait_until(lambda: sum(desk.ran().values()) == 7, timeout=DEADLINE, what=str(desk.ran()))
        desk.open_gate("two")
        assert job.result(timeout=DEADLINE).words == ["a:before", "a0:one", "a1:one", "a2:one"]
        told = Counter(event.type.removeprefix("batonpass.job.") for event in coordinator.events(job=job.id))
        assert (told["fanned_out"], told["joined"], told["completed"]) == (1, 1, 1)
        assert len(coordinator.jobs()) == 4
    assert desk.ran()["a:before"] == 1


@pytest.mark.each_store
@pytest.mark.timeout(240)
def test_killed_while_it_stages(desk: Desk) -> None:
    """What it had staged never becomes a job. The next worker stages its own children, and makes all of them."""
    first = desk.start("--agents", "parent,child", kill="after:6")  # of nine stages, after the step before them
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("parent", Task(text="a", seconds=5_000), returns=Done)
        assert first.exit_code() == -signal.SIGKILL
        assert staged(desk.url)
        assert job.info().reason != "waiting_children"
        assert len(coordinator.jobs()) == 1
        desk.serving("parent,child")
        assert job.result(timeout=DEADLINE).words == ["a:before", "done"]
        wait_until(lambda: settled(coordinator, job.id), timeout=DEADLINE, what="children that nobody needs")
        told = Counter(event.type.removeprefix("batonpass.job.") for event in coordinator.events(job=job.id))
        assert (told["fanned_out"], told["joined"], told["completed"]) == (1, 1, 1)
    assert staged(desk.url) == 0
    assert desk.ran()["a:before"] == 1


@pytest.mark.each_store
@pytest.mark.timeout(240)
def test_killed_before_it_says_that_children_failed(desk: Desk) -> None:
    """It had recorded which ones, so that a redrive makes them again. Nobody redrove: they are not made again."""
    desk.serving("falters")
    first = desk.start("--agents", "blames", kill="after:6")
    with bp.connect(desk.url, app=app) as coordinator:
        job = coordinator.submit("blames", Task(), returns=Done)
        assert first.exit_code() == -signal.SIGKILL
        assert (desk.ran()["ack Record"], job.info().state.ended) == (1, False)
        desk.serving("blames")
        with pytest.raises(bp.JobFailed, match="1 of 2 children"):
            job.result(timeout=DEADLINE)
        assert {label: desk.ran()[label] for label in ("zero", "one", "two")} == {"zero": 1, "one": 1, "two": 1}
        coordinator.redrive(job.id)
        with pytest.raises(bp.JobFailed, match="1 of 2 children"):
            job.result(timeout=DEADLINE)
        assert {label: desk.ran()[label] for label in ("zero", "one", "two")} == {"zero": 1, "one": 2, "two": 1}


def staged(url: str) -> int:
    """How many children are staged, looked up behind the store."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as db:
            return int(db.execute("SELECT count(*) FROM staged").fetchone()[0])
    with redis.Redis.from_url(url.partition("?")[0]) as server:
        space = dict(parse_qsl(urlsplit(url).query)).get("namespace", "default")
        lengths: list[Any] = [server.llen(key) for key in server.scan_iter(match=f"bp:{{{space}:0}}:b:*", count=10_000)]
        return sum(lengths)


def settled(coordinator: bp.SyncCoordinator, parent: str) -> bool:
    """Whether every child of a job has ended."""
    children = [info for info in coordinator.jobs(limit=20_000) if info.parent == parent]
    return bool(children) and all(info.state.ended for info in children)
