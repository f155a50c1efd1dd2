"""A store that is closed while it is used: what is under way is answered, or refused in our words."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from redis.connection import Connection

import batonpass as bp
from tests.harness.files import new_file
from tests.harness.waiting import wait_until

app = bp.App("closing-in-use")
CLOSED = "this coordinator is closed: use it"
_OPEN = Path("/proc/self/fd")


class Note(bp.Contract, name="closing-in-use.note"):
    text: str


@app.agent("keep", accepts=Note, returns=Note)
def keep(note: Note) -> Note:
    return note


NOTE = Note(text="x")


@pytest.fixture(params=["sqlite", "redis"])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> bp.Connection:
    if request.param in ("redis", "cluster"):
        return bp.connect(request.getfixturevalue(f"{request.param}_place")(), app=app)
    return bp.connect(f"sqlite:///{new_file(tmp_path / 'store.db')}", app=app)


def opened() -> int:
    return len(os.listdir(_OPEN)) if _OPEN.exists() else 0


def test_by_a_thread_whose_connection_stays_open(connection: bp.Connection) -> None:
    """Whoever closes a store, and whenever: it breaks no command, and the next one connects."""
    with connection as coordinator:
        ended = threading.Event()

        def close() -> None:
            while not ended.is_set():
                coordinator.store.close()

        closing = threading.Thread(target=close)
        closing.start()
        try:
            jobs = [coordinator.submit(keep, NOTE).id for _ in range(150)]
        finally:
            ended.set()
            closing.join()
        assert {each.id for each in coordinator.jobs(limit=1000)} == set(jobs)


@pytest.mark.parametrize("step", ["connect", "send_packed_command", "read_response"])
def test_by_another_thread_at_each_step_of_a_command(
    step: str, redis_place: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = bp.connect(redis_place(), app=app)
    with connection as coordinator, ThreadPoolExecutor(1) as another:
        close, usual = coordinator.store.close, getattr(Connection, step)

        def closed_before(*given: Any, **options: Any) -> Any:
            monkeypatch.undo()
            another.submit(close).result()
            monkeypatch.setattr(Connection, step, closed_before)
            return usual(*given, **options)

        monkeypatch.setattr(Connection, step, closed_before)
        assert coordinator.submit(keep, NOTE).info().state == "submitted"
        with connection as again:
            assert len(again.jobs()) == 1
        monkeypatch.undo()


class Users:
    """Threads that use a coordinator until they are refused."""

    def __init__(self, coordinator: bp.SyncCoordinator) -> None:
        self._coordinator = coordinator
        self.raised: list[BaseException] = []
        self._begun = threading.Barrier(4)
        self._threads = [threading.Thread(target=self._use) for _ in range(3)]
        for each in self._threads:
            each.start()
        self._begun.wait(30)

    def _use(self) -> None:
        self._begun.wait(30)
        try:
            while True:
                self._coordinator.jobs(limit=1)
        except BaseException as error:
            self.raised.append(error)

    def join(self) -> None:
        for each in self._threads:
            each.join(30)
            assert not each.is_alive()


def is_refusal(error: BaseException) -> bool:
    return isinstance(error, bp.BadSetup) and CLOSED in str(error)


def test_by_the_end_of_a_block_that_threads_outlive(connection: bp.Connection) -> None:
    """They are refused, and leave nothing open."""
    with connection:
        pass
    before = opened()
    for _ in range(20):
        with connection as coordinator:
            users = Users(coordinator)
        users.join()
        assert [error for error in users.raised if not is_refusal(error)] == []
    wait_until(lambda: opened() <= before, what="no more open files than before", timeout=30)


@pytest.mark.parametrize("connection", ["sqlite", "redis", "cluster"], indirect=True)
@pytest.mark.parametrize("beside", ["nobody", "who has it open, too", "who opens it again"])
async def test_by_a_call_that_tasks_outlive(connection: bp.Connection, beside: str) -> None:
    """Wherever they are (the loop takes this many turns before the call). If others have it open, too, they go on."""
    async with connection:
        pass
    before = opened()
    for turns in range(60):
        coordinator = await connection.aopen()
        if beside == "who has it open, too":
            await connection.aopen()
        tasks = [asyncio.create_task(coordinator.submit(keep, NOTE)) for _ in range(2)]
        for _ in range(turns):
            await asyncio.sleep(0)
        closing = asyncio.create_task(connection.aclose())
        if beside == "who opens it again":
            await asyncio.sleep(0)
            await connection.aopen()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        raised = [each for each in ends if isinstance(each, BaseException)]
        assert [error for error in raised if beside == "who has it open, too" or not is_refusal(error)] == []
        await closing
        if beside != "nobody":
            await connection.aclose()
    wait_until(lambda: opened() <= before, what="no more open files than before", timeout=30)
