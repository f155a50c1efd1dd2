"""A coordinator that was closed refuses what it is asked, and opens nothing that nobody would close."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

import batonpass as bp
from tests.harness.files import new_file
from tests.harness.waiting import wait_until

_OPEN = Path("/proc/self/fd")
CLOSED = "this coordinator is closed: use it"
app = bp.App("after-closing")


class Note(bp.Contract, name="closed.note"):
    text: str


@app.agent("keep", accepts=Note, returns=Note)
def keep(note: Note) -> Note:
    return note


NOTE = Note(text="x")


@pytest.fixture(params=["memory", "sqlite", "redis", "cluster", "coded"])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], bp.Connection]:
    """Connects to a new store of each kind."""
    codec = bp.Codec(compress=True) if request.param == "coded" else None
    if request.param == "memory":
        url = "memory://"
    elif request.param in ("redis", "cluster"):
        url = request.getfixturevalue(f"{request.param}_place")()
    else:
        url = f"sqlite:///{new_file(tmp_path / 'store.db')}"
    return lambda: bp.connect(url, app=app, codec=codec)


@pytest.fixture
def opens_nothing() -> Iterator[Callable[[], None]]:
    """Whether no more files are open than at the call before."""
    counts: list[int] = []

    def check() -> None:
        counts.append(len(os.listdir(_OPEN)) if _OPEN.exists() else 0)
        if len(counts) > 1:
            assert counts[-1] <= counts[0]

    yield check
    assert len(counts) == 2


def test_sync(connect: Callable[[], bp.Connection], opens_nothing: Callable[[], None]) -> None:
    with connect() as coordinator:
        job = coordinator.submit("keep", NOTE)
        consumer = coordinator.consume("before")
        assert [each.id for each in coordinator.jobs()] == [job.id]
    asked: list[Callable[[], object]] = [
        lambda: coordinator.submit("keep", NOTE),
        coordinator.jobs,
        coordinator.agents,
        job.info,
        lambda: job.result(timeout=1),
        job.cancel,
        lambda: list(job.stream()),
        lambda: list(coordinator.events()),
        lambda: next(coordinator.consume("after")),
        lambda: next(consumer),
        lambda: coordinator.job(job.id).info(),
    ]
    opens_nothing()
    for ask in asked:
        with pytest.raises(bp.BadSetup, match=CLOSED):
            ask()
    opens_nothing()


async def test_async(connect: Callable[[], bp.Connection], opens_nothing: Callable[[], None]) -> None:
    async with connect() as coordinator:
        job = await coordinator.submit("keep", NOTE)
        consumer = coordinator.consume("before")
        assert [each.id for each in await coordinator.jobs()] == [job.id]
    opens_nothing()
    for ask in (coordinator.jobs, coordinator.agents, job.info, job.cancel, job.result, consumer.__anext__):
        with pytest.raises(bp.BadSetup, match=CLOSED):
            await ask()
    with pytest.raises(bp.BadSetup, match=CLOSED):
        await coordinator.submit("keep", NOTE)
    with pytest.raises(bp.BadSetup, match=CLOSED):
        async for _ in coordinator.events(follow=True):
            pass
    with pytest.raises(bp.BadSetup, match=CLOSED):
        async for _ in job.stream():
            pass
    opens_nothing()
    wait_until(lambda: not any(each.name == "batonpass-sqlite" for each in threading.enumerate()), timeout=30)


def test_an_interrupted_backup_script(tmp_path: Path, sqlite_url: str) -> None:
    with bp.connect(sqlite_url) as coordinator:
        pass
    with pytest.raises(bp.BadSetup, match=CLOSED):
        coordinator.backup(tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


async def test_it_works_again_once_its_connection_is_opened_again(connect: Callable[[], bp.Connection]) -> None:
    connection = connect()
    with connection as first:
        job = first.submit("keep", NOTE)
    with connection as second:
        assert [each.id for each in second.jobs()] == [job.id]
        assert job.info().state == "submitted"
    async with connection as third:
        assert [each.id for each in await third.jobs()] == [job.id]
    with pytest.raises(bp.BadSetup, match=CLOSED):
        await third.jobs()


def test_who_opened_it_too_goes_on(connect: Callable[[], bp.Connection]) -> None:
    """As threads do that share a connection: each has its own `with`."""
    connection = connect()
    with connection as first:
        with connection as second:
            second.submit("keep", NOTE)
        assert len(first.jobs()) == 1
    for each in (first, second):
        with pytest.raises(bp.BadSetup, match=CLOSED):
            each.jobs()


def test_a_thread_that_uses_it_is_stopped(connect: Callable[[], bp.Connection]) -> None:
    raised: list[BaseException] = []
    begun = threading.Event()

    def use(coordinator: bp.SyncCoordinator) -> None:
        try:
            while True:
                coordinator.jobs()
                begun.set()
        except bp.BadSetup as error:
            raised.append(error)

    with connect() as coordinator:
        thread = threading.Thread(target=use, args=(coordinator,))
        thread.start()
        assert begun.wait(30)
    thread.join(30)
    assert CLOSED in str(raised[0])


async def test_a_worker_that_ended_leaves_it_open(connect: Callable[[], bp.Connection]) -> None:
    """It had a handle of its own."""
    async with connect() as coordinator:
        async with app.worker(coordinator):
            await (await coordinator.submit("keep", NOTE)).result(timeout=30)
        assert len(await coordinator.jobs()) == 1


@pytest.mark.parametrize("connect", ["memory", "sqlite", "redis", "coded"], indirect=True)
async def test_a_worker_ends_or_gives_back_what_it_holds(connect: Callable[[], bp.Connection]) -> None:
    """If its coordinator is closed meanwhile. (On a cluster, redis-py then leaves connections open that are in use.)"""
    app, began, ends = bp.App("closed"), anyio.Event(), anyio.Event()

    @app.agent("slow", accepts=Note, returns=Note)
    async def slow(note: Note, ctx: bp.Context) -> Note:
        began.set()
        await ends.wait()
        return note

    connection = connect()
    coordinator = await connection.aopen()
    async with app.worker(coordinator):
        job = await coordinator.submit(slow, Note(text="a"), returns=Note)
        await began.wait()
        await connection.aclose()
        ends.set()
    with pytest.raises(bp.BadSetup, match="is closed"):
        await job.info()
    async with connection:
        assert (await job.info()).state in (bp.JobState.COMPLETED, bp.JobState.SUBMITTED)


def test_a_consumer_can_still_be_closed(connect: Callable[[], bp.Connection]) -> None:
    connection = connect()
    coordinator = connection.open()
    consumer = coordinator.consume(group="all")
    connection.close()
    consumer.close()
