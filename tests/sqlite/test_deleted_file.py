"""A store's file is deleted, or replaced, while it is open: whoever continues in it is told."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.sqlite.there import There
from tests.harness.waiting import wait_until
from tests.workers.serving import Ask, only


def is_told(coordinator: bp.SyncCoordinator) -> bool:
    try:
        coordinator.save(thread="run", agent="start", state={"n": 1})
    except bp.Unreachable as error:
        return "was deleted" in str(error)
    return False


@pytest.mark.parametrize("replaced", [False, True], ids=["deleted", "replaced"])
def test_who_writes_to_a_file_that_nobody_finds_is_told(sqlite_url: str, tmp_path: Path, replaced: bool) -> None:
    path = tmp_path / "store.db"
    with bp.connect(sqlite_url) as coordinator:
        coordinator.save(thread="run", agent="start", state={"n": 0})
        coordinator.backup(str(tmp_path / "copy.db"))
        if replaced:
            os.replace(tmp_path / "copy.db", path)
        else:
            path.unlink()
        wait_until(lambda: is_told(coordinator), timeout=30, what="an error")
        with pytest.raises(bp.Unreachable, match="was deleted, or another file put in its place"):
            coordinator.timeline("run")
    if not replaced:
        shutil.copy(tmp_path / "copy.db", path)
    for log in tmp_path.glob("store.db-*"):
        log.unlink()
    with bp.connect(sqlite_url) as coordinator:  # opened anew
        assert len(coordinator.timeline("run")) == 1


def test_who_reads_first_after_that_makes_no_new_file(sqlite_url: str, tmp_path: Path) -> None:
    """Readers have a connection of their own, opened when it is first used."""
    path = tmp_path / "store.db"
    with bp.connect(sqlite_url) as coordinator:
        coordinator.save(thread="run", agent="start", state={"n": 0})
        path.unlink()
        with pytest.raises(bp.Unreachable, match="was deleted"):
            coordinator.timeline("run")
    assert not path.exists()


async def test_async_code_is_told_too(sqlite_url: str, tmp_path: Path) -> None:
    async with bp.connect(sqlite_url) as coordinator:
        (tmp_path / "store.db").unlink()
        with pytest.raises(bp.Unreachable, match="was deleted"):
            for _ in range(100_000):
                await coordinator.save(thread="run", agent="start", state={})


def test_nobody_waits_for_a_job_that_is_gone_with_its_file(sqlite_url: str, tmp_path: Path) -> None:
    with bp.connect(sqlite_url, app=only(print)) as coordinator:
        job = coordinator.submit("a", Ask())
        job.info()
        (tmp_path / "store.db").unlink()
        with pytest.raises(bp.Unreachable, match="was deleted"):
            job.result()


@pytest.mark.parametrize("look", [lambda it: it.events(follow=True), lambda it: it.consume("g", start="begin")])
def test_nobody_follows_what_is_gone_with_its_file(
    sqlite_url: str, tmp_path: Path, look: Callable[[bp.SyncCoordinator], Iterator[bp.Event]]
) -> None:
    with bp.connect(sqlite_url) as coordinator:
        coordinator.save(thread="run", agent="start", state={})
        following = look(coordinator)
        next(following)
        (tmp_path / "store.db").unlink()
        with pytest.raises(bp.Unreachable, match="was deleted"):
            next(following)


@pytest.mark.parametrize("look", [lambda it: it.events(follow=True), lambda it: it.consume("g", start="begin")])
async def test_async_code_follows_nothing_that_is_gone(
    sqlite_url: str, tmp_path: Path, look: Callable[[bp.Coordinator], AsyncIterator[bp.Event]]
) -> None:
    async with bp.connect(sqlite_url) as coordinator:
        await coordinator.save(thread="run", agent="start", state={})
        following = look(coordinator)
        await anext(following)
        (tmp_path / "store.db").unlink()
        with pytest.raises(bp.Unreachable, match="was deleted"), anyio.fail_after(15):
            await anext(following)


async def test_who_begins_to_wait_after_that_makes_no_new_file(sqlite_url: str, tmp_path: Path) -> None:
    """A moment ago the file was there, and the store does not check again so soon."""
    path = tmp_path / "store.db"
    async with bp.connect(sqlite_url, app=only(print)) as coordinator:
        job = await coordinator.submit("a", Ask())
        await job.info()
        path.unlink()
        with pytest.raises(bp.Unreachable, match="was deleted"):
            await job.result(timeout=30)
    assert not path.exists()


def test_a_file_that_another_thread_closes_was_not_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a program ends that closes what its threads still use."""
    (tmp_path / "store.db").touch()
    there = There(str(tmp_path / "store.db"))
    there.opened()

    def closed(path: str) -> os.stat_result:
        monkeypatch.undo()
        there.forget()
        return os.stat(path)

    monkeypatch.setattr(os, "stat", closed)
    there.look()
    assert os.stat is not closed
