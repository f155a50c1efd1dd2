"""However a connection is left, its files and sockets are closed at once, not at a later garbage collection."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
import redis

import batonpass as bp
from tests.harness.waiting import wait_until

_OPEN = Path("/proc/self/fd")
pytestmark = [pytest.mark.each_store, pytest.mark.skipif(not _OPEN.exists(), reason="open files are not listed here")]


@contextmanager
def nothing_left() -> Iterator[None]:
    """A block after which no more files are open than before."""
    gc.collect()
    before = len(os.listdir(_OPEN))
    gc.disable()
    try:
        yield
        wait_until(lambda: len(os.listdir(_OPEN)) <= before, timeout=30, what="some files stay open")
    finally:
        gc.enable()


async def use(url: str, used: anyio.Event | None = None) -> None:
    async with bp.connect(url) as coordinator:
        await coordinator.jobs()
        await coordinator.groups()
        if used is not None:
            used.set()
            async for _ in coordinator.events(follow=True):
                pass


@pytest.mark.parametrize("scoped", [True, False])
async def test_by_a_cancel(store_url: str, scoped: bool) -> None:
    await use(store_url)
    with nothing_left():
        used = anyio.Event()
        if scoped:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(use, store_url, used)
                await used.wait()
                tasks.cancel_scope.cancel()
        else:
            task = asyncio.create_task(use(store_url, used))
            await used.wait()
            task.cancel()
            await asyncio.wait([task])


async def test_by_a_cancel_while_it_opens(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await use(store_url)
    connection = bp.connect(store_url)
    opened, goes_on = threading.Event(), threading.Event()
    opening = connection._store.open

    def opens() -> None:
        opening()
        opened.set()
        assert goes_on.wait(30)

    monkeypatch.setattr(connection._store, "open", opens)
    with nothing_left():
        task = asyncio.create_task(connection.aopen())
        assert await asyncio.to_thread(opened.wait, 30)
        task.cancel()
        await asyncio.wait([task])
        goes_on.set()


@pytest.mark.parametrize("side", ["sync", "async"])
async def test_by_a_refusal(redis_url: str, redis_server: str, side: str) -> None:
    await use(redis_url)
    with redis.Redis.from_url(redis_server) as server:
        [schema] = server.scan_iter(match=f"bp:*{redis_url.partition('namespace=')[2]}*:schema")
        server.set(schema, 10_000)
        with nothing_left(), pytest.raises(bp.BadSetup, match="a newer Batonpass"):
            await bp.connect(redis_url).aopen() if side == "async" else bp.connect(redis_url).open()


def test_another_librarys_loop_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    opening = bp.connect(f"sqlite:///{tmp_path}/new.db").aopen()
    with pytest.raises(bp.BadSetup, match="no asyncio event loop here"):
        opening.send(None)  # as in trio, which drives a coroutine without asyncio
    assert list(tmp_path.iterdir()) == []
