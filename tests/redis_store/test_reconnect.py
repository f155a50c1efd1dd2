"""Connections that break, at any moment, and a server that restarts: commands are repeated, and happen once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.store import Store, Topic
from batonpass.coordinator.urls import open_store
from batonpass.workers.upkeep import Alarm, keep_up
from tests.harness.bench import fence_of, new_checkpoint, new_job, new_target
from tests.harness.proxy import Proxy
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until
from tests.workers.serving import Ask, Reply, only

QUEUE = new_target().queue
JOBS, ENOUGH = 50, 20
pytestmark = [
    pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore"),
    pytest.mark.parametrize("own_redis", ["redis", "valkey"], indirect=True),
]


@pytest.fixture
def store(own_redis: RedisServer) -> Iterator[Store]:
    made = open_store(own_redis.url)
    made.open()
    yield made
    made.close()


@contextmanager
def often(what: Callable[[], object]) -> Iterator[list[int]]:
    """Does something again and again while the block runs, less and less often, because on a slow machine, too,
    something has to get through. The list says how often."""
    count, stop = [0], threading.Event()

    def run() -> None:
        while not stop.wait(0.005 * 1.05 ** count[0]):
            what()
            count[0] += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield count
    finally:
        stop.set()
        thread.join()


def lives(call: Callable[[c.Command[Any]], Any], number: int) -> None:
    """This many jobs, from submit to complete. Leases are short, so that a job whose claim was lost comes back soon."""
    left = {call(new_job()).id for _ in range(number)}
    while left:
        call(c.Reap())
        for delivery in call(c.Claim("w", ((QUEUE, 300),), (mint("l"), mint("l")))):
            fence = fence_of(delivery)
            try:
                call(c.Save(fence.job_id, new_checkpoint(1, thread=fence.job_id), fence, records={"a": b"1"}))
                call(c.Complete(fence, b"result"))
            except bp.Fenced:
                continue
            left.discard(fence.job_id)


def check(store: Store, number: int) -> None:
    """Each job has ended once, with what was saved."""
    rows = store.call(c.ListJobs(10_000))
    assert len(rows) == number
    for row in rows:
        assert (row.state, row.result) == ("completed", b"result")
        events = store.call(c.Events(subject=row.id, limit=100_000))
        kinds = [event.fields["type"] for event in events if event.fields]
        assert kinds.count("batonpass.job.completed") == 1
        assert kinds.count("batonpass.job.submitted") == 1


def through(store: Store, side: str, troubles: list[int]) -> int:
    """Run jobs until there was enough trouble. Returns how many. What is given up is done again, which is safe."""
    with asyncio.Runner() as runner:

        def call(command: c.Command[Any]) -> Any:
            while True:
                try:
                    return store.call(command) if side == "sync" else runner.run(store.acall(command))
                except bp.Unavailable:  # killed at each of its attempts
                    continue

        rounds = 0
        while troubles[0] < ENOUGH:
            lives(call, JOBS)
            rounds += 1
        runner.run(store.aclose())
    return rounds * JOBS


@pytest.mark.parametrize("side", ["sync", "async"])
def test_connections_are_killed(own_redis: RedisServer, store: Store, side: str) -> None:
    """At any moment, also between a command and its reply: nothing happens twice, and nothing is left out."""
    with own_redis.client() as server, often(lambda: server.execute_command("CLIENT KILL TYPE normal")) as kills:
        done = through(store, side, kills)
    check(store, done)


@pytest.mark.parametrize("side", ["sync", "async"])
def test_scripts_are_flushed(own_redis: RedisServer, store: Store, side: str) -> None:
    with own_redis.client() as server, often(server.script_flush) as flushes:
        done = through(store, side, flushes)
    check(store, done)


async def waiting(store: Store, change: Callable[[], Awaitable[object]]) -> Any:
    """What a worker claims if something happens while it waits with its claim already sent."""
    watch = store.watch(Topic(queues=(QUEUE,)))
    await watch.aopen()
    found: list[Any] = []

    async def wait() -> None:
        found.extend(await store.acall_after(watch, 20.0, c.Claim("w", ((QUEUE, 300),), (mint("l"),))))

    with anyio.fail_after(15):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            await change()
    await watch.aclose()
    return found


async def test_scripts_are_flushed_while_a_claim_waits(own_redis: RedisServer, store: Store) -> None:
    submitted = new_job()

    async def change() -> None:
        with own_redis.client() as server:
            server.script_flush()
        await store.acall(submitted)

    [delivery] = await waiting(store, change)
    assert delivery.job.id == submitted.job_id
    await store.aclose()


async def test_a_waiting_connection_is_killed(own_redis: RedisServer, store: Store) -> None:
    """The wait counts as a wake-up: the worker looks."""
    await store.acall(new_job())

    async def change() -> None:
        with own_redis.client() as server:
            server.execute_command("CLIENT KILL TYPE normal")

    with own_redis.client() as server:
        server.delete(*server.scan_iter(match="*:w:*", count=1000))  # so that nothing else ends the wait
    assert len(await waiting(store, change)) == 1
    await store.aclose()


@pytest.mark.timeout(90)
async def test_the_server_restarts_in_the_middle_of_load(own_redis: RedisServer) -> None:
    """A worker and a client go on by themselves, and no job is lost or done twice."""

    async def work(ask: Ask) -> Reply:
        await anyio.sleep(0.005)
        return Reply(text=ask.text)

    app = only(work, lease=2.0)  # a claim whose reply the restart ate comes back soon
    async with bp.connect(own_redis.url, app=app) as coordinator, app.worker(coordinator, concurrency=3):
        jobs: list[bp.Job[Reply]] = []

        async def submit() -> None:
            for number in range(100):
                jobs.append(await patiently(coordinator, number))
                await anyio.sleep(0.003)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(submit)
            for restart in range(2):
                while len(jobs) < 30 * (restart + 1):
                    await anyio.sleep(0.005)
                await anyio.to_thread.run_sync(own_redis.kill)
                await anyio.to_thread.run_sync(own_redis.start)
        with anyio.fail_after(40):
            assert [(await job.result()).text for job in jobs] == [str(number) for number in range(100)]
        ends = [event.subject async for event in coordinator.events() if event.type.endswith("job.completed")]
    assert sorted(ends) == sorted(job.id for job in jobs)


@pytest.mark.timeout(120)
async def test_who_could_not_renew_its_lease_may_do_so_first(
    own_redis: RedisServer, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """The server was away for longer than a lease. Work in progress is not taken away because of that."""
    caplog.set_level("INFO", "batonpass.worker")
    await store.acall(new_job())
    [delivery] = await store.acall(c.Claim("w", ((QUEUE, 200),), (mint("l"),)))
    upkeep = open_store(own_redis.url)
    async with anyio.create_task_group() as tasks:
        own_redis.kill()
        tasks.start_soon(keep_up, upkeep, "other", (QUEUE,), Alarm())
        await _said(caplog, "upkeep failed, trying again")
        own_redis.start()
        await _said(caplog, "that is over")
        assert await store.acall(c.Heartbeat(((fence_of(delivery), 200),))) == [""]
        await _said(caplog, "made ready: 1")
        tasks.cancel_scope.cancel()
    await upkeep.aclose()
    await store.aclose()


async def _said(caplog: pytest.LogCaptureFixture, text: str) -> None:
    with anyio.fail_after(60):
        while text not in caplog.text:
            await anyio.sleep(0.01)


async def patiently(coordinator: bp.Coordinator, number: int) -> bp.Job[Reply]:
    """Submit until it is acknowledged; the key makes it one job."""
    while True:
        try:
            return await coordinator.submit("a", Ask(text=str(number)), key=str(number), returns=Reply)
        except bp.Unavailable:
            await anyio.sleep(0.05)


@pytest.mark.parametrize("side", ["sync", "async"])
def test_a_firewall_forgets_an_idle_connection(own_redis: RedisServer, side: str) -> None:
    """The command that meets a silent connection is repeated by a new one."""
    with Proxy(own_redis.port) as proxy, asyncio.Runner() as runner:
        store = open_store(f"redis://127.0.0.1:{proxy.port}?socket_timeout=0.2")
        call = store.call if side == "sync" else lambda command: runner.run(store.acall(command))
        first = call(new_job()).id
        proxy.forget()
        second = call(new_job())
        assert {row.id for row in call(c.ListJobs())} == {first, second.id}
        runner.run(store.aclose())


@pytest.mark.timeout(60)
async def test_a_firewall_forgets_the_connections_of_an_idle_worker(own_redis: RedisServer) -> None:
    """The wait for work ends soon after its time. It used to take half a minute."""

    async def work(ask: Ask) -> Reply:
        return Reply(text=ask.text)

    app = only(work, lease=1.0)  # the server may give the next job to a worker that can't be reached any more
    with Proxy(own_redis.port) as proxy:
        far = f"redis://127.0.0.1:{proxy.port}?socket_timeout=0.5"
        async with (
            bp.connect(own_redis.url, app=app) as client,
            bp.connect(far, app=app) as coordinator,
            app.worker(coordinator, concurrency=1),
        ):
            job = await client.submit("a", Ask(text="1"), returns=Reply)
            await job.result(timeout=30)
            with own_redis.client() as server, anyio.fail_after(30):
                while not server.info("clients")["blocked_clients"]:
                    await anyio.sleep(0.005)
            proxy.forget()
            job = await client.submit("a", Ask(text="2"), returns=Reply)
            assert (await job.result(timeout=20)).text == "2"


def test_a_client_that_waits_for_a_server_that_comes_back(own_redis: RedisServer) -> None:
    """Within its patience a call does not even fail."""
    store = open_store(own_redis.url)
    store.call(new_job())
    own_redis.kill()
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(store.call(new_job())))
    thread.start()
    own_redis.start()
    wait_until(lambda: answers)
    thread.join()
    assert len(store.call(c.ListJobs())) == 2
    store.close()
