"""The connection that all async calls of a store share: each gets its own answer, whatever happens to the others."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from redis.exceptions import ConnectionError as Lost

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.lifetime import Lifetime
from batonpass.coordinator.loops import PerLoop
from batonpass.coordinator.redis.connections import Connections, pack
from batonpass.coordinator.redis.store import RedisStore
from batonpass.coordinator.store import Store, Topic
from batonpass.coordinator.urls import open_store
from tests.harness.bench import fence_of, new_job, new_target
from tests.harness.redis import RedisServer

pytestmark = pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore")


@pytest.fixture
async def store(request: pytest.FixtureRequest, own_redis: RedisServer) -> AsyncIterator[Store]:
    """The store. A test of giving up has a marker, and its store gives up soon. (On a busy machine, others would,
    too.)"""
    made = open_store(f"{own_redis.url}?{getattr(request, 'param', '')}")
    await made.aopen()
    yield made
    await made.aclose()


async def together(store: Store, commands: Sequence[c.Command[Any]]) -> list[Any]:
    with anyio.fail_after(20):
        return await asyncio.gather(*(store.acall(command) for command in commands), return_exceptions=True)


async def test_each_gets_its_own_answer(store: Store) -> None:
    """Also refusals, and large answers between small ones."""
    jobs = [new_job() for _ in range(200)]
    rows = await together(store, [*jobs])
    assert [row.id for row in rows] == [job.job_id for job in jobs]
    unknown = mint("j")
    found = await together(store, [*(c.ReadJob(job.job_id) for job in jobs), c.ReadJob(unknown), c.ListJobs(500)])
    assert [row.id for row in found[:200]] == [job.job_id for job in jobs]
    assert isinstance(found[200], bp.NotFound)
    assert len(found[201]) == 200


async def test_a_caller_that_goes_away_leaves_the_others_alone(store: Store) -> None:
    jobs = [new_job() for _ in range(50)]
    calls = [asyncio.create_task(store.acall(job)) for job in jobs]
    await asyncio.sleep(0)  # asked
    for call in calls[::2]:
        call.cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers[::2])
    assert [answer.id for answer in answers[1::2] if not isinstance(answer, BaseException)] == [
        job.job_id for job in jobs[1::2]
    ]


async def test_a_wait_that_is_given_up_claims_nothing(own_redis: RedisServer, store: Store) -> None:
    job = new_job()
    watch = store.watch(Topic(queues=(job.target.queue,)))
    await watch.aopen()
    waiting = asyncio.create_task(store.acall_after(watch, 20.0, claim(job)))
    with own_redis.client() as server, anyio.fail_after(10):
        for blocked in (1, 0):
            while server.info("clients")["blocked_clients"] != blocked:
                await anyio.sleep(0.005)
            waiting.cancel()
    await store.acall(job)
    assert [delivery.job.id for delivery in await store.acall(claim(job))] == [job.job_id]
    await watch.aclose()


async def test_a_claim_is_sent_before_the_turn_is_over(store: Store) -> None:
    """With the ends before it, because what agents do next in this turn may take long, and the server would be idle."""
    first, second = new_job(), new_job()
    for job in (new_job(), first):
        await store.acall(job)
        [delivery] = await store.acall(claim(job))
        if job is not first:  # the server knows the scripts
            await store.acall(c.Complete(fence_of(delivery), b"done"))
    await store.acall(second)

    async def agent() -> None:
        deadline = time.monotonic() + 10
        while [store.call(c.ReadJob(job.job_id)).state for job in (first, second)] != ["completed", "working"]:
            assert time.monotonic() < deadline

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(store.acall(c.ReadJob(first.job_id)))  # what comes after it waits for the turn's end
        tasks.create_task(store.acall(c.Complete(fence_of(delivery), b"done")))
        tasks.create_task(store.acall(claim(second)))
        tasks.create_task(agent())


def claim(job: c.Submit) -> c.Claim:
    return c.Claim("w", ((job.target.queue, 60_000),), (mint("l"),))


async def test_all_go_on_when_their_connection_is_killed(own_redis: RedisServer, store: Store) -> None:
    """Twenty at once, again and again: what was carried out is not done twice."""
    done: list[str] = []

    async def live() -> None:
        for _ in range(20):
            job, row = new_job(), None
            while row is None:
                with suppress(bp.Unavailable):  # killed at each of its attempts
                    row = await store.acall(job)
            done.append(row.id)

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(live)
        with own_redis.client() as server:
            pause = 0.01
            while (before := len(done)) < 400:
                server.execute_command("CLIENT KILL TYPE normal")
                await anyio.sleep(pause)
                # On a busy machine nothing may be carried out in so short a time.
                pause = pause * 1.5 if len(done) == before else 0.01
    rows = await store.acall(c.ListJobs(1000))
    assert sorted(row.id for row in rows) == sorted(done)


async def test_many_ends_at_once_happen_once_each(store: Store) -> None:
    await together(store, [new_job() for _ in range(64)])
    leases = tuple(mint("l") for _ in range(64))
    deliveries = await store.acall(c.Claim("w", ((new_target().queue, 5000),), leases))
    ends = [c.Complete(fence_of(each), each.job.id.encode()) for each in deliveries]
    assert await together(store, [*ends, *ends]) == [None] * 128
    rows = await store.acall(c.ListJobs(100))
    assert {(row.state, row.result) for row in rows} == {("completed", row.id.encode()) for row in rows}


async def test_ends_that_go_together_are_each_for_itself(own_redis: RedisServer, store: Store) -> None:
    """A few calls of the script for all; a refusal, and an error in one, leave the others alone."""
    await together(store, [new_job() for _ in range(40)])
    leases = tuple(mint("l") for _ in range(40))
    deliveries = await store.acall(c.Claim("w", ((new_target().queue, 60_000),), leases))
    ends = [c.Complete(fence_of(each), each.job.id.encode()) for each in deliveries]
    ends[3] = dataclasses.replace(ends[3], fence=dataclasses.replace(ends[3].fence, lease_id=mint("l")))
    await store.acall(ends[0])  # the server knows the script
    with own_redis.client() as server:
        [job] = server.scan_iter(match=f"*:j:{ends[5].fence.job_id}", count=1000)
        server.rename(job, "away")
        server.lpush(job, "no job")
        server.config_resetstat()
        answers = await together(store, [ends[2], *ends[6:20]])
        assert server.info("commandstats")["cmdstat_evalsha"]["calls"] == 1
        assert answers == [None] * 15
        answers = await together(store, ends)
        server.rename("away", job)
    assert isinstance(answers[3], bp.Fenced)
    assert isinstance(answers[5], bp.Unavailable)
    assert [answer for number, answer in enumerate(answers) if number not in (3, 5)] == [None] * 38
    await store.acall(ends[5])
    states = {row.id: row.state for row in await store.acall(c.ListJobs(100))}
    assert [states[end.fence.job_id] for end in ends] == ["completed"] * 3 + ["working"] + ["completed"] * 36


async def test_who_goes_away_leaves_the_ends_that_go_together(store: Store) -> None:
    await together(store, [new_job() for _ in range(10)])
    leases = tuple(mint("l") for _ in range(10))
    deliveries = await store.acall(c.Claim("w", ((new_target().queue, 60_000),), leases))
    calls = [asyncio.create_task(store.acall(c.Complete(fence_of(each), b"done"))) for each in deliveries]
    await asyncio.sleep(0)
    calls[4].cancel()
    with anyio.fail_after(10):
        answers = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(answers.pop(4), asyncio.CancelledError)
    assert answers == [None] * 9


@pytest.mark.parametrize("store", ["socket_timeout=0.3"], indirect=True)
async def test_a_server_that_hangs_is_given_up(own_redis: RedisServer, store: Store) -> None:
    await store.acall(new_job())
    own_redis.signal(signal.SIGSTOP)
    try:
        with anyio.fail_after(30):
            answers = await together(store, [c.ListJobs(1), c.LastEvent()])
    finally:
        own_redis.signal(signal.SIGCONT)
    assert all(isinstance(answer, bp.Unavailable) for answer in answers)
    assert len(await store.acall(c.ListJobs(10))) == 1


async def test_a_line_that_was_lost_in_the_turn_that_opened_it_says_so(store: Store) -> None:
    """Whoever asked for it runs a turn later, and would wait for an answer until its time is over."""
    await store.acall(c.LastEvent())
    assert isinstance(store, RedisStore)
    shared = store._async.here().connection._shared
    shared.close(Lost("gone"))
    await anyio.wait_all_tasks_blocked()
    with pytest.raises(Lost):
        await shared.ask(pack(("PING",)))


def test_threads_that_hang_up_at_the_same_time_leave_each_other_alone() -> None:
    """As when a server falls silent: for each of them an answer is late."""

    class Shared(deque[Any]):
        """A dict from which another thread takes something between a look and the act that follows."""

        def __len__(self) -> int:
            number = super().__len__()
            self.clear()
            return number

        def __bool__(self) -> bool:
            return len(self) > 0

    connections = Connections(SimpleNamespace(connection_pool=None), Lifetime())
    connections._idle = Shared(["a connection"])
    with suppress(AttributeError):  # it is none
        connections.close()


def test_a_loop_that_has_ended_is_let_go_of_by_any_number_of_threads() -> None:
    async def close(made: str) -> None: ...

    held = PerLoop(lambda: "made", close)

    class Ended(asyncio.SelectorEventLoop):
        def is_closed(self) -> bool:
            if closed := super().is_closed():
                held._held.pop(self, None)  # as another thread does that looks now, too
            return closed

    async def use() -> str:
        return held.here()

    loop = Ended()
    loop.run_until_complete(use())
    loop.close()
    assert asyncio.run(use()) == "made"


def test_what_a_parents_loop_holds_is_the_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a fork, that loop looks as if it were running. Whoever waited for it to close would wait in vain."""
    closed: list[str] = []

    async def close(made: str) -> None:
        closed.append(made)

    names = iter(("parent", "child"))
    held = PerLoop(lambda: next(names), close)
    begun, ended = threading.Event(), threading.Event()

    async def parent() -> None:
        assert held.here() == held.here() == "parent"
        begun.set()
        await asyncio.to_thread(ended.wait, 20)

    async def child() -> None:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        assert held.here() == "child"
        await held.aclose()
        assert closed == ["child"]

    thread = threading.Thread(target=asyncio.run, args=(parent(),))
    thread.start()
    assert begun.wait(20)
    try:
        asyncio.run(child())
    finally:
        monkeypatch.undo()
        ended.set()
        thread.join()
    assert closed == ["child", "parent"]
