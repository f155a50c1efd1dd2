"""How soon a process sees what another one wrote, and how often it looks for that."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Semaphore

import anyio
import pytest

from batonpass.coordinator.sqlite import inotify, pace
from batonpass.coordinator.sqlite.change_detector import ChangeDetector
from batonpass.coordinator.sqlite.inotify import Inotify
from batonpass.coordinator.sqlite.store import SqliteStore
from batonpass.coordinator.sqlite.watch import SqliteWatch
from batonpass.coordinator.store import Topic
from tests.harness.bench import new_job

from .beside import finished, run, said

LONG = 60.0
_SUBMITS = """
import sys
from batonpass.coordinator.sqlite.change_detector import ChangeDetector
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_job
store = SqliteStore(sys.argv[1], "default")
store.open()
print("ready", flush=True)
for line in sys.stdin:
    store.call(new_job())
    print("done", flush=True)
"""
Wait = Callable[[SqliteWatch, float], None]


@pytest.fixture(params=["sync", "async"])
def wait(request: pytest.FixtureRequest, store: SqliteStore) -> Iterator[Wait]:
    """One way to wait."""
    if request.param == "sync":
        yield SqliteWatch.wait
        return
    with asyncio.Runner() as runner:
        yield lambda watch, timeout: runner.run(watch.await_(timeout))
        runner.run(store.aclose())


class Other:
    """A process that submits jobs to the same file."""

    def __init__(self, path: Path) -> None:
        self._process = run(_SUBMITS, path)
        assert said(self._process) == "ready"

    def submit(self) -> None:
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def ends(self) -> None:
        finished(self._process)


def wakes(watch: SqliteWatch, wait: Wait, other: Other) -> None:
    """What the other process submits ends the wait."""
    for _ in range(2):  # the first begins to see, the second has seen all so far
        wait(watch, 0.0)
    other.submit()
    began = time.monotonic()
    wait(watch, LONG)
    assert time.monotonic() - began < LONG / 2


def looks_of(watch: SqliteWatch, wait: Wait, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a wait that nothing ends looks at the file."""
    wait(watch, 0.0)
    counted = 0
    original = ChangeDetector._data_version

    def counting(self: ChangeDetector) -> tuple[int, int]:
        nonlocal counted
        counted += 1
        return original(self)

    with monkeypatch.context() as patch:
        patch.setattr(ChangeDetector, "_data_version", counting)
        wait(watch, 0.5)
    return counted


def detector_of(watch: SqliteWatch) -> ChangeDetector:
    """What it sees by."""
    detector = watch._detector or (watch._watcher and watch._watcher._detector)
    assert detector
    return detector


def test_who_waits_notices_others_and_looks_seldom(
    store: SqliteStore, path: Path, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, other = store.watch(Topic()), Other(path)
    assert looks_of(watch, wait, monkeypatch) < 5
    monkeypatch.setattr(pace, "_SELDOM", LONG)
    for _ in range(3):
        wakes(watch, wait, other)
    other.ends()
    watch.close()


def test_where_nothing_is_reported_it_looks_often(
    store: SqliteStore, path: Path, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a folder that a virtual machine shares with its host: the first change is found by a look."""
    monkeypatch.setattr(Inotify, "watch", lambda self, path: None)
    watch, other = store.watch(Topic()), Other(path)
    wait(watch, 0.0)
    while not detector_of(watch).polls:  # a change may be there before the wait
        wakes(watch, wait, other)
    monkeypatch.setattr(pace, "_SELDOM", LONG)
    wakes(watch, wait, other)
    assert looks_of(watch, wait, monkeypatch) > 5
    other.ends()
    watch.close()


async def test_this_process_is_noticed_without_inotify(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inotify, "_left", Semaphore(0))
    monkeypatch.setattr(pace, "_POLL", LONG)
    watch = store.watch(Topic())
    await watch.aopen()
    with anyio.fail_after(LONG / 2):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.await_, LONG)
            await anyio.wait_all_tasks_blocked()
            await store.acall(new_job())
    await store.aclose()


def test_a_crowd_leaves_ears_to_others(store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = SqliteWatch.wait
    watches, other = [store.watch(Topic()) for _ in range(20)], Other(path)
    for watch in [*watches, *watches]:
        wait(watch, 0.0)
    assert sum(detector_of(watch)._inotify is not None for watch in watches) == 8
    monkeypatch.setattr(pace, "_SELDOM", LONG)
    wakes(watches[-1], wait, other)
    other.ends()
    for watch in watches:
        watch.close()
    assert all(inotify._left.acquire(blocking=False) for _ in range(8)), "not all were given back"
    inotify._left.release(8)


def test_a_fork_has_ears_of_its_own(path: Path) -> None:
    """With its parent's inotify, it would take away what the parent should read."""
    program = """
import os, sys
from batonpass.coordinator.sqlite.change_detector import ChangeDetector
from batonpass.coordinator.sqlite.store import SqliteStore
from batonpass.coordinator.store import Topic
store = SqliteStore(sys.argv[1], "default")
store.open()
watch = store.watch(Topic())
watch.wait(0)
watch.wait(0)
before = watch._detector._inotify
child = os.fork()
if child == 0:
    watch.wait(0)
    os._exit(0 if watch._detector._inotify is not before else 1)
assert os.waitpid(child, 0)[1] == 0
watch.wait(0)
assert watch._detector._inotify is before
"""
    finished(run(program, path))
