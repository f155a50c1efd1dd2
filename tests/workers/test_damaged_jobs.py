"""Jobs that somebody wrote into the store by hand, or damaged there: each ends alone, and its worker goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
import redis

import batonpass as bp
from batonpass.contracts.contract import contract_ref
from batonpass.coordinator import commands as c
from batonpass.coordinator.book import target
from batonpass.coordinator.redis.place import prefix_of
from batonpass.coordinator.urls import file_of
from tests.harness.bench import new_job

from . import apart
from .agents import Done, Task
from .families import serving_apart
from .processes import Desk
from .serving import DEADLINE, Ask, Reply, only, reached, serving


def _app() -> bp.App:
    async def run(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=ask.text)

    return only(run)


@pytest.mark.each_store
async def test_one_that_is_not_for_the_agent_of_its_queue(store_url: str) -> None:
    """Every worker that claimed it exited."""
    async with serving(_app(), store_url, concurrency=3) as coordinator:
        queue = target("a", contract_ref(Ask), b"").queue
        command = new_job("nobody")
        command.target.queue = queue
        bad = (await coordinator.store.acall(command)).id
        beside = [await coordinator.submit("a", Ask(text=str(n))) for n in range(5)]
        for n, job in enumerate(beside):
            assert await job.result(timeout=DEADLINE) == Reply(text=str(n))
        failed = await reached(coordinator.job(bad), bp.JobState.FAILED, reason="corrupted")
        assert failed.error is not None
        assert f"job {bad} is for agent 'nobody', but waits in the queue of another one" in failed.error


def _damage(url: str, job: str, field: str, value: str) -> None:
    """As somebody does by hand."""
    if path := file_of(url):
        with closing(sqlite3.connect(path)) as db:
            assert db.execute(f"UPDATE job SET {field} = ? WHERE id = ?", (value, job)).rowcount == 1
            db.commit()
        return
    with _client(url) as (server, prefix):
        server.hset(f"{prefix}j:{job}", field, value)


@contextmanager
def _client(url: str) -> Iterator[tuple[Any, str]]:
    """A client of a Redis, and the namespace's prefix there."""
    with redis.Redis.from_url(url.partition("?")[0]) as server:
        yield server, prefix_of(url.rpartition("namespace=")[2], 0)


async def _beside(coordinator: bp.Coordinator, spoil: Callable[[str], None]) -> bp.Job[Any]:
    """A job that was spoilt before a worker saw it. Those behind it are done."""
    app = _app()
    await app.declare(coordinator)
    bad = await coordinator.submit("a", Ask(text="bad"))
    beside = [await coordinator.submit("a", Ask(text=str(n))) for n in range(5)]
    spoil(bad.id)
    async with app.worker(coordinator, concurrency=3):
        for n, job in enumerate(beside):
            assert await job.result(timeout=DEADLINE) == Reply(text=str(n))
    return bad


@pytest.mark.each_store
@pytest.mark.parametrize("field", ["priority", "attempt", "failing", "deadline", "hop", "key_ttl"])
async def test_a_number_that_is_none(store_url: str, field: str) -> None:
    """Workers exited of it, one after the other, or claimed nothing any more. So did what lists jobs."""
    app = _app()
    async with bp.connect(store_url, app=app) as coordinator:
        bad = await _beside(coordinator, lambda job: _damage(store_url, job, field, "x"))
        async with app.worker(coordinator):
            failed = await reached(bad, bp.JobState.FAILED, reason="corrupted")
        assert failed.error is not None
        assert f"the {field} of job {bad.id} can't be read: submit it again" in failed.error
        assert len(await coordinator.jobs()) == 6
        assert [each.id for each in await coordinator.dead_letters()] == [bad.id]
        _damage(store_url, bad.id, field, "x")
        [shown] = [each for each in await coordinator.jobs() if each.id == bad.id]
        assert (shown.unreadable, (await bad.info()).unreadable) == ((field,), (field,))
        await coordinator.delete(bad.id)


@pytest.mark.each_store
@pytest.mark.parametrize("field", ["token", "expires", "due", "lease_until"])
async def test_a_number_that_nobody_needs_any_more(store_url: str, field: str) -> None:
    """On Redis the job goes on: a claim writes another one, or asks for none."""
    app = _app()
    async with bp.connect(store_url, app=app) as coordinator:
        bad = await _beside(coordinator, lambda job: _damage(store_url, job, field, "x"))
        async with app.worker(coordinator):
            info = await reached(bad, bp.JobState.FAILED, bp.JobState.COMPLETED)
        assert (info.state, info.reason) in ((bp.JobState.COMPLETED, ""), (bp.JobState.FAILED, "corrupted"))
        assert len(await coordinator.jobs()) == 6


async def test_a_journal_of_another_type(redis_url: str) -> None:
    """It was leased and never started, again and again. Then what looks for expired leases failed of it, for ever."""

    def spoil(job: str) -> None:
        with _client(redis_url) as (server, prefix):
            server.hset(f"{prefix}j:{job}", "token", "5")  # that of a job that has had a lease
            server.set(f"{prefix}n:{job}", "1")

    app = _app()
    async with bp.connect(redis_url, app=app) as coordinator:
        bad = await _beside(coordinator, spoil)
        async with app.worker(coordinator):
            failed = await reached(bad, bp.JobState.FAILED, reason="corrupted")
        assert f"the journal of job {bad.id} can't be read" in str(failed.error)


@pytest.mark.parametrize("key", ["j:{}", "paused"])
async def test_a_key_of_another_type(redis_url: str, key: str) -> None:
    """Nobody could claim anything."""

    def spoil(job: str) -> None:
        with _client(redis_url) as (server, prefix):
            server.delete(prefix + key.format(job))
            server.set(prefix + key.format(job), "1")

    async with bp.connect(redis_url, app=_app()) as coordinator:
        bad = await _beside(coordinator, spoil)
        listed = [each.id for each in await coordinator.jobs()]
        assert len(listed) == (6 if key == "paused" else 5)
        if key == "paused":
            assert await bad.result(timeout=DEADLINE) == Reply(text="bad")
        else:
            with pytest.raises(bp.NotFound, match=bad.id):
                await bad.info()


@pytest.mark.parametrize("damage", ["crashes", "thread_digest", "queue", "lease", "type"])
async def test_one_whose_lease_expires(redis_url: str, damage: str) -> None:
    """What takes back expired leases failed of it, and took none of the others back any more."""
    app = _app()
    async with bp.connect(redis_url, app=app) as coordinator:
        await app.declare(coordinator)
        jobs = [await coordinator.submit("a", Ask(text=str(n))) for n in range(2)]
        queue = target("a", contract_ref(Ask), b"").queue
        assert len(await coordinator.store.acall(c.Claim("lost", ((queue, 1),), ("l-1", "l-2")))) == 2
        with _client(redis_url) as (server, prefix):
            key = f"{prefix}j:{jobs[0].id}"
            if damage == "crashes":
                server.hset(key, damage, "x")
            elif damage == "type":
                server.delete(key)
                server.set(key, "1")
            else:
                server.hdel(key, damage)
        async with app.worker(coordinator):
            assert await jobs[1].result(timeout=DEADLINE) == Reply(text="1")


def test_one_that_would_get_a_process_of_its_own(desk: Desk) -> None:
    with bp.connect(desk.url, app=apart.app) as coordinator:
        bad = coordinator.submit("steps", Task(text="a"), returns=Done)
        _damage(desk.url, bad.id, "priority", "x")
        serving_apart(desk, "steps")
        with pytest.raises(bp.JobFailed, match=f"the priority of job {bad.id} can't be read: submit it again"):
            bad.result(timeout=DEADLINE)
