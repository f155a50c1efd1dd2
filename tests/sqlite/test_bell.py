"""The bell of a file: it wakes whoever waits in this process, even while a store or a loop is being closed."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import anyio
import pytest

from batonpass.coordinator.bell import Bell
from batonpass.coordinator.sqlite import store as stores
from batonpass.coordinator.sqlite.store import SqliteStore
from batonpass.coordinator.store import Topic

LONG = 60.0  # seconds


def test_it_is_gone_with_the_stores_of_its_file(path: Path) -> None:
    """A program may open any number of files, one after the other."""
    made = SqliteStore(str(path), "default")
    other = SqliteStore(str(path), "other")
    assert made._bell is other._bell
    del made, other
    gc.collect()
    assert str(path) not in stores._BELLS


def test_a_loop_that_closes_while_it_rings_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever rings has written something: that must not seem to have failed."""
    bell, closed, rung = Bell(), asyncio.new_event_loop(), list[str]()
    bell.call(closed, lambda: rung.append("closed"))
    closed.close()
    monkeypatch.setattr(closed, "is_closed", lambda: False)  # as a moment before

    async def waits() -> None:
        bell.call(asyncio.get_running_loop(), lambda: rung.append("open"))
        bell.ring()
        await anyio.wait_all_tasks_blocked()

    anyio.run(waits)
    assert rung == ["open"]


async def test_who_waits_is_woken_when_the_store_is_closed(store: SqliteStore) -> None:
    watch = store.watch(Topic())
    await watch.aopen()
    with anyio.fail_after(LONG / 2):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.await_, LONG)
            await anyio.wait_all_tasks_blocked()
            await store.aclose()
