"""A connection that is closed elsewhere, by the last who had it open, while a task waits for an answer."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio.connection import AbstractConnection

import batonpass as bp
from batonpass.coordinator.redis.shared_connection import SharedConnection
from tests.harness.waiting import wait_until

app = bp.App("closing-under-way")
CLOSED = "this coordinator is closed: use it"
_OPEN = Path("/proc/self/fd")
pytestmark = pytest.mark.skipif(not _OPEN.exists(), reason="open files are not listed here")


class Note(bp.Contract, name="closing-under-way.note"):
    text: str


@app.agent("keep", accepts=Note, returns=Note)
def keep(note: Note) -> Note:
    return note


def opened() -> int:
    return len(os.listdir(_OPEN))


@pytest.fixture(params=["redis", "cluster", "redis with one connection"])
def connection(request: pytest.FixtureRequest) -> bp.Connection:
    kind, *one = request.param.split(" ", 1)
    url = request.getfixturevalue(f"{kind}_place")()
    connection = bp.connect(f"{url}&max_connections=1" if one else url, app=app)
    with connection:
        pass
    return connection


class Replies:
    """A server's replies. While they are held back, they are on their way."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.here = threading.Event()  # one has come
        self._kept: list[Callable[[], None]] = []
        self._let_in: asyncio.Event | None = None
        receive, read = SharedConnection.data_received, AbstractConnection.read_response

        def received(connection: SharedConnection, data: bytes) -> None:
            if self._let_in is None:
                receive(connection, data)
            else:
                self._kept.append(lambda: receive(connection, data))
                self.here.set()

        async def reading(connection: Any, *given: Any, **options: Any) -> Any:
            if self._let_in is not None:
                self.here.set()
                await self._let_in.wait()
            return await read(connection, *given, **options)

        monkeypatch.setattr(SharedConnection, "data_received", received)
        monkeypatch.setattr(AbstractConnection, "read_response", reading)

    def hold_back(self) -> None:
        self._let_in = asyncio.Event()

    def let_in(self) -> None:
        let_in, self._let_in = self._let_in, None
        if let_in is not None:
            let_in.set()
        while self._kept:
            self._kept.pop(0)()


@pytest.fixture
def replies(monkeypatch: pytest.MonkeyPatch) -> Replies:
    return Replies(monkeypatch)


async def comes(look: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 30
    while not look():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        await asyncio.sleep(0.005)


def close(connection: bp.Connection, side: str) -> None:
    if side == "sync":
        connection.close()
    else:
        asyncio.run(connection.aclose())


async def asked(connection: bp.Connection, replies: Replies, closing: Callable[[], Awaitable[None]]) -> Any:
    """Ask, and have the connection closed before the answer is here. Returns a coordinator, and the task that asks."""
    coordinator = await connection.aopen()
    await coordinator.jobs()
    replies.hold_back()
    asking = asyncio.create_task(coordinator.submit(keep, Note(text="x")))
    await comes(replies.here.is_set, "a reply")
    await closing()
    for _ in range(20):  # so that this loop has closed what it may
        await asyncio.sleep(0)
    return coordinator, asking


def elsewhere(connection: bp.Connection, side: str) -> Callable[[], Awaitable[None]]:
    """Closes it in another thread."""

    async def closing() -> None:
        with ThreadPoolExecutor(1) as thread:
            await asyncio.wrap_future(thread.submit(close, connection, side))

    return closing


@pytest.mark.parametrize("side", ["sync", "async"])
async def test_it_gets_its_answer(connection: bp.Connection, replies: Replies, side: str) -> None:
    """After that its loop closes what it has."""
    before = opened()
    coordinator, asking = await asked(connection, replies, elsewhere(connection, side))
    replies.let_in()
    job = await asking
    await comes(lambda: opened() <= before, "no more open files than before")
    with pytest.raises(bp.BadSetup, match=CLOSED):
        await coordinator.jobs()
    with connection as after:
        assert [each.id for each in after.jobs()] == [job.id]


async def test_it_gets_its_answer_in_the_loop_that_closes(connection: bp.Connection, replies: Replies) -> None:
    before = opened()
    _, asking = await asked(connection, replies, connection.aclose)
    replies.let_in()
    assert (await asking).id
    await comes(lambda: opened() <= before, "no more open files than before")


async def test_who_opens_it_again_meanwhile_has_another_one(connection: bp.Connection, replies: Replies) -> None:
    before = opened()
    coordinator, asking = await asked(connection, replies, elsewhere(connection, "sync"))
    replies.let_in()
    async with connection:
        job = await asking
        assert [each.id for each in await coordinator.jobs()] == [job.id]
    await comes(lambda: opened() <= before, "no more open files than before")


@pytest.mark.parametrize("side", ["sync", "async"])
async def test_it_is_cancelled_then(connection: bp.Connection, replies: Replies, side: str) -> None:
    before = opened()
    _, asking = await asked(connection, replies, elsewhere(connection, side))
    asking.cancel()
    await asyncio.wait([asking])
    assert asking.cancelled()
    replies.let_in()
    await comes(lambda: opened() <= before, "no more open files than before")


@pytest.mark.filterwarnings("ignore:coroutine .aat_once.*never awaited")  # anyio, if its tasks end before they begin
@pytest.mark.parametrize("answered", [True, False])
def test_its_loop_ends_then(
    connection: bp.Connection, replies: Replies, answered: bool, complaints: Callable[[], list[str]]
) -> None:
    """So many turns later."""

    async def main(turns: int) -> None:
        _, asking = await asked(connection, replies, elsewhere(connection, "sync"))
        if answered:
            replies.let_in()
        for _ in range(turns):
            await asyncio.sleep(0)
        assert turns or not asking.done()

    before = opened()
    for turns in range(12):
        replies.here.clear()
        asyncio.run(main(turns))
        assert complaints() == []
        replies.let_in()
        wait_until(lambda: opened() <= before, what="no more open files than before", timeout=30)
