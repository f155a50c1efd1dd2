"""Several have one connection open, and some close it more often than they opened it: others' blocks stay open."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

import batonpass as bp
from tests.harness.files import new_file
from tests.harness.openings import openings

CLOSED = "this coordinator is closed: use it"


class Note(bp.Contract, name="closing-twice.note"):
    text: str


@pytest.fixture(params=["memory", "sqlite", "redis", "coded"])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> bp.Connection:
    if request.param == "memory":
        return bp.connect("memory://")
    if request.param == "redis":
        return bp.connect(request.getfixturevalue("redis_place")())
    codec = bp.Codec(compress=True) if request.param == "coded" else None
    return bp.connect(f"sqlite:///{new_file(tmp_path / 'store.db')}", codec=codec)


def is_closed(coordinator: bp.SyncCoordinator) -> None:
    with pytest.raises(bp.BadSetup, match=CLOSED):
        coordinator.jobs()


async def ais_closed(coordinator: bp.Coordinator) -> None:
    with pytest.raises(bp.BadSetup, match=CLOSED):
        await coordinator.jobs()


def test_in_a_block(connection: bp.Connection) -> None:
    """It ends with the block."""
    with connection as mine:
        connection.close()
        assert mine.jobs() == []
        other = connection.open()
    assert other.jobs() == []
    connection.close()
    is_closed(other)


def test_one_that_is_open_is_not_checked_again(connection: bp.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A web application has a block for each request, and its store may be away for some of them."""
    opened: list[str] = []
    opens = connection._store.open

    def open_once() -> None:
        opened.append("open")
        if len(opened) == 1:
            raise bp.Unreachable("it is away")
        opens()

    monkeypatch.setattr(connection._store, "open", open_once)
    with pytest.raises(bp.Unreachable):
        connection.open()
    with connection:
        for _ in range(3):
            with connection as inner:
                assert inner.jobs() == []
    assert len(opened) == 2
    connection.open()
    connection.close()
    assert len(opened) == 3


async def test_nor_in_async_code(connection: bp.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = openings(connection, monkeypatch)
    async with connection, connection as inner:
        assert await inner.jobs() == []
    assert len(opened) == 1
    async with connection:
        assert len(opened) == 2


def test_in_nested_blocks(connection: bp.Connection) -> None:
    with connection as outer:
        with connection:
            connection.close()
            connection.close()
        assert outer.jobs() == []
    is_closed(outer)


def test_that_was_never_opened(connection: bp.Connection) -> None:
    connection.close()
    with connection as coordinator:
        assert coordinator.jobs() == []
    connection.close()
    is_closed(coordinator)


def test_each_call_of_one_thread_closes_one(connection: bp.Connection) -> None:
    first, second = connection.open(), connection.open()
    connection.close()
    assert first.jobs() == second.jobs() == []
    connection.close()
    is_closed(first)
    is_closed(second)


def test_by_another_thread(connection: bp.Connection) -> None:
    """Who opened it may be gone, so anybody may close it. Again and again: nothing is left of earlier openings."""
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as another:
        for _ in range(3):
            one.submit(connection.open).result()
            coordinator = one.submit(connection.open).result()
            another.submit(connection.close).result()
            assert coordinator.jobs() == []
            another.submit(connection.close).result()
            is_closed(coordinator)


async def test_side_by_side(connection: bp.Connection) -> None:
    """Two tasks: one closes twice, by calls or early in its block, and the other goes on."""

    async def by_calls() -> None:
        await connection.aopen()
        await connection.aclose()
        await connection.aclose()

    async def in_a_block() -> None:
        async with connection:
            await connection.aclose()
            await connection.aclose()

    async def in_a_stack() -> None:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(connection)
            await connection.aclose()

    for close_twice in (by_calls, in_a_block, in_a_stack):
        await _goes_on(connection, close_twice)


async def _goes_on(connection: bp.Connection, close_twice: Callable[[], Awaitable[None]]) -> None:
    opened, ends = anyio.Event(), anyio.Event()

    async def other() -> None:
        async with connection as coordinator:
            opened.set()
            await ends.wait()
            assert await coordinator.jobs() == []
        await ais_closed(coordinator)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(other())
        await opened.wait()
        await tasks.create_task(close_twice())  # type: ignore[arg-type]
        ends.set()


async def test_a_block_that_another_task_ends(connection: bp.Connection) -> None:
    """As fixtures do."""
    mine = await asyncio.create_task(connection.__aenter__())
    async with connection as other:
        await connection.aclose()
        await asyncio.create_task(connection.__aexit__(None, None, None))
    await ais_closed(mine)
    await ais_closed(other)


async def test_sync_and_async(connection: bp.Connection) -> None:
    sync, coordinator = connection.open(), await connection.aopen()
    connection.close()
    assert await coordinator.jobs() == []
    await connection.aclose()
    await ais_closed(coordinator)
    is_closed(sync)


async def test_by_the_other_call(connection: bp.Connection) -> None:
    """Sync code may close what async code opened, if nothing else can be meant."""
    coordinator = await connection.aopen()
    connection.close()
    await ais_closed(coordinator)
    await connection.aclose()


async def test_a_worker_goes_on(connection: bp.Connection) -> None:
    """It ends well, whatever is closed meanwhile."""
    app, began, ends = bp.App("closing-twice"), anyio.Event(), anyio.Event()

    @app.agent("slow", accepts=Note, returns=Note)
    async def slow(note: Note, ctx: bp.Context) -> Note:
        began.set()
        await ends.wait()
        await ctx.step("two", lambda: 2)
        return note

    async with connection as coordinator, app.worker(coordinator):
        job = await coordinator.submit(slow, Note(text="a"), returns=Note)
        await began.wait()
        await connection.aclose()
        await connection.aclose()
        ends.set()
        assert (await job.result(timeout=30)).text == "a"
