"""Short writes of an event loop are done in it, if nobody is in the way: it waits neither for the lock nor the disk."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Place, Write
from batonpass.coordinator.sqlite import disk, later, moments
from batonpass.coordinator.sqlite.later import Later
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_checkpoint
from tests.sqlite.beside import other

pytestmark = pytest.mark.skipif(not disk.SHARED, reason="SQLite waits by itself here")


def _put(key: str, tip: str | None = None, **more: Any) -> c.Put:
    new = new_checkpoint(thread="t")
    new.place = Place("", key)
    return c.Put(new, tip=tip, **more)


@pytest.fixture
def threads(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads in which commands were carried out."""
    seen: list[threading.Thread] = []
    carry_out = store._line._carry_out

    def noted(*given: Any) -> Any:
        seen.append(threading.current_thread())
        return carry_out(*given)

    monkeypatch.setattr(store._line, "_carry_out", noted)
    return seen


def _run(store: SqliteStore, *commands: c.Command[Any]) -> list[Any]:
    async def main() -> list[Any]:
        return await asyncio.gather(*map(store.acall, commands), return_exceptions=True)

    return asyncio.run(main())


def test_what_is_asked_in_one_turn_is_one_commit_and_each_gets_its_own_answer(
    store: SqliteStore, threads: list[threading.Thread]
) -> None:
    commits = store._disk.committed
    one, refused, two = _run(store, _put("1"), _put("2", tip="no such"), _put("3"))
    assert (one.step_index, type(refused), two.step_index) == (0, bp.Conflict, 1)
    assert set(threads) == {threading.current_thread()}
    assert store._disk.committed == commits + 1
    assert [row.place.key for row in store.call(c.Places("t"))] == ["3", "1"]


def test_only_who_may_be_answered_soon_is_answered_before_the_disk_has_it(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    works, fdatasync = threading.Event(), os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda file: works.wait(30) and fdatasync(file))

    async def main() -> None:
        late = asyncio.create_task(store.acall(_put("1")))
        await store.acall(_put("2", soon=True))
        behind = store.behind()
        assert behind is not None
        await asyncio.sleep(0.01)
        assert not late.done()
        works.set()
        await late
        await behind.asettle()
        assert store.behind() is None

    asyncio.run(main())


def _locked(path: Path) -> Callable[[], object]:
    db = other(path).__enter__()
    db.execute("BEGIN IMMEDIATE")
    return db.close


def _used(store: SqliteStore) -> Callable[[], object]:
    store._writing.__enter__()
    return lambda: store._writing.__exit__(None, None, None)


@pytest.mark.parametrize("who", ["another process", "another thread"])
def test_the_loop_goes_on_while_somebody_else_writes(who: str, store: SqliteStore, path: Path) -> None:
    leave = _locked(path) if who == "another process" else _used(store)

    async def main() -> None:
        task = asyncio.create_task(store.acall(_put("1")))
        for _ in range(5):
            await asyncio.sleep(0.001)
        assert not task.done()
        leave()
        assert (await task).step_index == 0

    asyncio.run(main())


@pytest.mark.parametrize(
    "commands",
    [
        [_put("1", writes=[Write("0", b"x" * moments._SHORT)])],
        [c.PutWrites("t", "", "1", [Write("0", b"x" * (moments._SHORT + 1))])],
        [_put(f"{number:03}") for number in range(moments._FEW + 1)],
    ],
    ids=["large put", "large writes", "many"],
)
def test_what_takes_longer_is_for_the_thread(
    commands: Sequence[c.Command[Any]], store: SqliteStore, threads: list[threading.Thread]
) -> None:
    assert not any(isinstance(answer, Exception) for answer in _run(store, *commands))
    assert threading.current_thread() not in threads


def test_after_one_that_took_long_the_thread_does_it_for_a_while(
    store: SqliteStore, threads: list[threading.Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("batonpass.coordinator.sqlite.moments.monotonic", lambda: now[0])
    monkeypatch.setattr(store, "_clock", lambda: now.__setitem__(0, now[0] + 1.0) or 1)
    here = threading.current_thread()
    _run(store, _put("1"))
    _run(store, _put("2"))
    assert [each is here for each in threads] == [True, False]
    now[0] += moments._PAUSE
    _run(store, _put("3"))
    assert [each is here for each in threads] == [True, False, True]


def test_the_log_is_looked_at_by_the_thread(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[threading.Thread] = []
    monkeypatch.setattr("batonpass.coordinator.sqlite.wal._COMMITS", 4)
    monkeypatch.setattr("batonpass.coordinator.sqlite.wal._move", lambda _: looked.append(threading.current_thread()))
    for number in range(9):
        _run(store, _put(str(number)))
    assert len(looked) >= 2
    assert threading.current_thread() not in looked


class Keeper:
    """A disk's waits, as futures that the test ends."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, asyncio.Future[Any]]] = []

    def begin(self, commit: int) -> asyncio.Future[Any]:
        self.asked.append((commit, asyncio.get_running_loop().create_future()))
        return self.asked[-1][1]


def test_waits_without_a_hurry_are_one_with_the_next_that_is_in_one() -> None:
    async def main() -> None:
        keeper: Any = Keeper()
        waits = Later(keeper)
        tasks = [asyncio.create_task(waits.kept(commit, hurry=False)) for commit in (5, 8)]
        await asyncio.sleep(0)
        assert not keeper.asked
        tasks[1].cancel()
        tasks.append(asyncio.create_task(waits.kept(7, hurry=True)))
        await asyncio.sleep(0)
        [(commit, future)] = keeper.asked
        assert commit == 8
        assert not tasks[0].done()
        future.set_exception(bp.Unreachable("broken"))
        failed = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in failed] == [bp.Unreachable, asyncio.CancelledError, bp.Unreachable]

    asyncio.run(main())


def test_they_wait_for_no_hurry_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later, "_PATIENCE", 0.001)

    async def main() -> None:
        keeper: Any = Keeper()
        task = asyncio.create_task(Later(keeper).kept(5, hurry=False))
        while not keeper.asked:
            await asyncio.sleep(0.001)
        keeper.asked[0][1].set_result(None)
        await task

    asyncio.run(main())
