"""Several have a connection open, and the last of them closes what event loops have, too: without a word, at once or,
of a loop that does not run, at that loop's end."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from tests.harness.files import new_file
from tests.harness.waiting import wait_until

_OPEN = Path("/proc/self/fd")
CLOSED = "this coordinator is closed: use it"
pytestmark = pytest.mark.skipif(not _OPEN.exists(), reason="open files are not listed here")


@pytest.fixture(params=["sqlite", "redis", "cluster"])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> bp.Connection:
    if request.param in ("redis", "cluster"):
        connection = bp.connect(request.getfixturevalue(f"{request.param}_place")())
    else:
        connection = bp.connect(f"sqlite:///{new_file(tmp_path / 'store.db')}")
    with connection:
        pass
    return connection


def opened() -> int:
    return len(os.listdir(_OPEN))


async def comes(look: Callable[[], bool], what: str) -> None:
    """`wait_until` while the loop runs. (Not in a thread: a loop that has had one takes more turns to end.)"""
    deadline = time.monotonic() + 30
    while not look():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        await asyncio.sleep(0.005)


async def use(coordinator: bp.Coordinator) -> None:
    """As much as a loop can have of its own."""
    await coordinator.jobs()
    await coordinator.groups()
    assert [each async for each in coordinator.events()] == []
    before = opened()

    async def follow() -> None:
        async for _ in coordinator.events(follow=True):
            pass

    following = asyncio.create_task(follow())
    await comes(lambda: opened() > before, "a connection on which it waits for events")
    following.cancel()
    await asyncio.wait([following])


class Beside:
    """A thread that has a connection open until it is told to end."""

    def __init__(self, connection: bp.Connection, side: str) -> None:
        self._connection = connection
        self._opened, self._ends = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._sync if side == "sync" else lambda: asyncio.run(self._async()))
        self._thread.start()
        assert self._opened.wait(30)

    def _sync(self) -> None:
        within: AbstractContextManager[bp.SyncCoordinator] = self._connection
        with within as coordinator:
            coordinator.jobs()
            self._opened.set()
            self._ends.wait(30)

    async def _async(self) -> None:
        within: AbstractAsyncContextManager[bp.Coordinator] = self._connection
        async with within as coordinator:
            await coordinator.jobs()
            self._opened.set()
            await asyncio.to_thread(self._ends.wait, 30)

    def end(self) -> None:
        self._ends.set()
        self._thread.join(30)
        assert not self._thread.is_alive()


@pytest.mark.parametrize("side", ["sync", "async"])
async def test_while_the_loop_goes_on(connection: bp.Connection, side: str) -> None:
    """As in a web service that opens it at its start only, and has threads of its own."""
    before = opened()
    beside = Beside(connection, side)
    async with connection as coordinator:
        await use(coordinator)
    await asyncio.to_thread(beside.end)
    await comes(lambda: opened() <= before, "no more open files than before")
    with pytest.raises(bp.BadSetup, match=CLOSED):
        await coordinator.jobs()


async def test_by_sync_code_in_the_loop_itself(connection: bp.Connection) -> None:
    before = opened()
    with connection:
        async with connection as coordinator:
            await use(coordinator)
    with pytest.raises(bp.BadSetup, match=CLOSED):
        await coordinator.jobs()
    await comes(lambda: opened() <= before, "no more open files than before")


def test_just_when_the_loop_ends(connection: bp.Connection, complaints: Callable[[], list[str]]) -> None:
    """It takes this many turns after that. So it cancels what closes, or ends before that has begun."""

    async def main(turns: int) -> None:
        with connection:
            async with connection as coordinator:
                await use(coordinator)
        for _ in range(turns):
            await asyncio.sleep(0)

    before = opened()
    for turns in range(8):
        asyncio.run(main(turns))
        assert complaints() == []
        wait_until(lambda: opened() <= before, what="no more open files than before", timeout=30)


@pytest.mark.parametrize("side", ["sync", "async"])
@pytest.mark.parametrize("runs_again", [True, False])
def test_while_the_loop_is_idle(
    connection: bp.Connection, side: str, runs_again: bool, complaints: Callable[[], list[str]]
) -> None:
    """Between two runs, as in a notebook."""

    async def main() -> Any:
        async with connection as coordinator:
            await use(coordinator)
        return coordinator

    before = opened()
    with asyncio.Runner() as runner:
        beside = Beside(connection, side)
        coordinator = runner.run(main())
        beside.end()
        gc.collect()
        if runs_again:
            with pytest.raises(bp.BadSetup, match=CLOSED):
                runner.run(coordinator.jobs())
    assert complaints() == []
    wait_until(lambda: opened() <= before, what="no more open files than before", timeout=30)


@pytest.mark.parametrize("anew", [False, True])
def test_as_soon_as_an_idle_loop_runs_again(
    connection: bp.Connection, anew: bool, complaints: Callable[[], list[str]]
) -> None:
    """Code that keeps a loop for its whole life, and runs it within blocks of sync code: what each run had open would
    add up. `anew`: with another connection each time."""

    async def main(used: bp.Connection) -> None:
        async with used as coordinator:
            await use(coordinator)

    store = connection._store
    with asyncio.Runner() as runner:
        runner.run(asyncio.sleep(0))
        before = opened()
        for _ in range(4):
            used = bp.connect(store.url, namespace=store.namespace) if anew else connection
            with used:
                runner.run(main(used))
        runner.run(comes(lambda: opened() <= before, "no more open files than before"))
        assert complaints() == []
    assert complaints() == []


@pytest.mark.parametrize("connection", ["sqlite"], indirect=True)
def test_a_loop_that_is_closed_as_it_is(connection: bp.Connection) -> None:
    """By code that cancels no tasks, and closes no generators. Nothing was begun and never awaited."""

    async def main() -> None:
        async with connection as coordinator:
            await use(coordinator)

    loop = asyncio.new_event_loop()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with connection:
            loop.run_until_complete(main())
        loop.close()
        del loop
        gc.collect()
    assert told == []
