"""Blocks of one connection that begin and end beside each other: none of them notices how others end."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from tests.harness.files import new_file

app = bp.App("closing-beside")
_TIMES = 60


class Note(bp.Contract, name="closing-beside.note"):
    text: str


@app.agent("keep", accepts=Note, returns=Note)
def keep(note: Note) -> Note:
    return note


NOTE = Note(text="x")


@pytest.fixture(params=["sqlite", "redis", "cluster", "coded"])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> bp.Connection:
    if request.param in ("redis", "cluster"):
        return bp.connect(request.getfixturevalue(f"{request.param}_place")(), app=app)
    codec = bp.Codec(compress=True) if request.param == "coded" else None
    return bp.connect(f"sqlite:///{new_file(tmp_path / 'store.db')}", app=app, codec=codec)


@pytest.fixture
def closings(connection: bp.Connection, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How the store was closed. (`aclose` calls `close`, too.)"""
    told: list[str] = []
    store: Any = connection._store
    closes, acloses = store.close, store.aclose

    def close() -> None:
        told.append("close")
        closes()

    async def aclose() -> None:
        told.append("aclose")
        await acloses()

    monkeypatch.setattr(store, "close", close)
    monkeypatch.setattr(store, "aclose", aclose)
    return told


def test_only_the_last_one_closes_the_store(connection: bp.Connection, closings: list[str]) -> None:
    with connection:
        with connection:
            connection.open()
        connection.close()
        assert closings == []
    assert closings == ["close"]


async def test_only_the_last_one_closes_the_store_async(connection: bp.Connection, closings: list[str]) -> None:
    async with connection:
        async with connection:
            await connection.aopen()
        await connection.aclose()
        assert closings == []
    assert closings[:1] == ["aclose"]


async def test_a_worker_keeps_it_open(connection: bp.Connection, closings: list[str]) -> None:
    """And closes it at its end."""
    coordinator = await connection.aopen()
    async with app.worker(coordinator):
        await (await coordinator.submit(keep, NOTE)).result(timeout=30)
        await connection.aclose()
        assert closings == []
    assert closings[:1] == ["aclose"]


def in_threads(count: int, work: Callable[[Counter[str]], None]) -> Counter[str]:
    """What went wrong while so many threads did that."""
    wrong: Counter[str] = Counter()
    threads = [threading.Thread(target=work, args=(wrong,)) for _ in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)
        assert not each.is_alive()
    return wrong


def test_each_thread_has_blocks_of_its_own(connection: bp.Connection) -> None:
    """The last one out closes the store just when another opens it."""

    def work(wrong: Counter[str]) -> None:
        for _ in range(_TIMES):
            try:
                with connection as coordinator:
                    coordinator.submit(keep, NOTE)
            except BaseException as error:
                wrong[repr(error)] += 1

    assert in_threads(3, work) == {}
    with connection as coordinator:
        assert len(coordinator.jobs(limit=1000)) == 3 * _TIMES


def test_each_task_has_blocks_of_its_own(connection: bp.Connection) -> None:
    """In two loops."""

    async def uses(turns: int, wrong: Counter[str]) -> None:
        for number in range(_TIMES // 2):
            try:
                async with connection as coordinator:
                    await coordinator.submit(keep, NOTE)
            except BaseException as error:
                wrong[repr(error)] += 1
            for _ in range(turns * number % 7):
                await asyncio.sleep(0)

    async def loop(wrong: Counter[str]) -> None:
        await asyncio.gather(*(uses(turns, wrong) for turns in (1, 2)))

    assert in_threads(2, lambda wrong: asyncio.run(loop(wrong))) == {}
    with connection as coordinator:
        assert len(coordinator.jobs(limit=1000)) == 4 * (_TIMES // 2)
