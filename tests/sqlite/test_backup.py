"""Backups: complete, of one moment, a store in themselves; made while others write, and never over anything."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.snapshots import open_checkpoint
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.cli.commandline import CommandLine
from tests.harness.bench import new_job
from tests.sqlite.beside import other, run, said, sound

# Submits and saves until it is ended; says what was acknowledged.
_WRITES = """
import sys
from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_checkpoint, new_job
store = SqliteStore(sys.argv[1], "default")
for number in range(1_000_000):
    store.call(new_job(key=f"{sys.argv[2]}-{number}"))
    store.call(c.Save(sys.argv[2], new_checkpoint([number, "x" * 2000], thread=sys.argv[2])))
    print(number, flush=True)
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tmp_path / "copy.db"


def test_it_opens_as_a_store(sqlite_url: str, copy: Path) -> None:
    told: list[tuple[int, int]] = []
    with bp.connect(f"{sqlite_url}?namespace=other") as coordinator:
        coordinator.save(thread="t", agent="a", state=2)
    with bp.connect(sqlite_url) as coordinator:
        saved = coordinator.save(thread="t", agent="a", state={"text": "x" * 10_000_000})
        coordinator.backup(copy, progress=lambda copied, size: told.append((copied, size)))
        coordinator.save(thread="t", agent="a", state="later")
    with bp.connect(f"sqlite:///{copy}") as coordinator:
        assert [each.id for each in coordinator.timeline(thread="t")] == [saved.id]
        assert coordinator.restore(saved.id).state == {"text": "x" * 10_000_000}
        coordinator.save(thread="t", agent="a", state="goes on")
    with bp.connect(f"sqlite:///{copy}?namespace=other") as coordinator:
        assert [each.state for each in [coordinator.latest(thread="t")] if each] == [2]
    assert len(told) > 1
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] > 10_000_000
    assert sound(copy)


def test_a_store_behind_a_codec(sqlite_url: str, copy: Path) -> None:
    """It was refused, as if its server had to back it up."""
    codec = bp.Codec(sign={"k": b"k" * 32})
    with bp.connect(sqlite_url, codec=codec) as coordinator:
        saved = coordinator.save(thread="t", agent="a", state="signed")
        coordinator.backup(copy)
    with bp.connect(f"sqlite:///{copy}", codec=codec) as coordinator:
        assert coordinator.restore(saved.id).state == "signed"


async def test_async(sqlite_url: str, copy: Path) -> None:
    async with bp.connect(sqlite_url) as coordinator:
        saved = await coordinator.save(thread="t", agent="a", state=1)
        async with anyio.create_task_group() as group:
            group.start_soon(coordinator.backup, copy)
    async with bp.connect(f"sqlite:///{copy}") as coordinator:
        assert (await coordinator.restore(saved.id)).state == 1


def test_while_others_write(store: SqliteStore, path: Path, copy: Path) -> None:
    """What was acknowledged before is in it, nothing is in it by half, and the writers were not held up."""
    writers = [run(_WRITES, path, name) for name in ("a", "b")]
    before = {}
    try:
        for _ in range(30):
            before = {writer: int(said(writer)) for writer in writers}
        during: list[int] = []
        store.backup(str(copy), lambda copied, size: during.append(len(store.call(c.ListJobs(100_000)))))
        for writer in writers:
            said(writer)
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    assert sound(copy)
    made = SqliteStore(str(copy), "default")
    for name, writer in zip("ab", writers, strict=True):
        line = made.call(c.Timeline(name, 100_000))
        states = [open_checkpoint(made.call(c.Restore(row.id))).state[0] for row in reversed(line)]
        assert states == list(range(len(states)))
        assert len(states) > before[writer]
        for number in states:
            again = new_job(key=f"{name}-{number}")
            assert made.call(again).id != again.job_id, "its job was submitted before, so it must be there"
    made.close()


def test_a_large_one_does_not_begin_anew_with_every_write(store: SqliteStore, copy: Path) -> None:
    """SQLite starts a copy again when another connection writes. Under load it would never end."""
    for _ in range(40):
        store.call(new_job(payload=f'"{"x" * 250_000}"'))
    steps: list[int] = []

    def write(copied: int, size: int) -> None:
        steps.append(copied)
        store.call(new_job())

    store.backup(str(copy), write)
    assert steps == sorted(set(steps)), "it went back"
    assert len(steps) > 2
    made = SqliteStore(str(copy), "default")
    assert len(made.call(c.ListJobs(1000))) == 40, "it is of the moment in which it began"
    made.close()


@pytest.mark.parametrize("name", ["copy.db", "copy.db-wal", "copy.db-journal"])
def test_nothing_is_overwritten(store: SqliteStore, copy: Path, name: str) -> None:
    there = copy.with_name(name)
    there.write_text("mine")
    with pytest.raises(
        bp.BadSetup, match=f"{name} already exists, and a backup never overwrites a file: choose another name"
    ):
        store.backup(str(copy))
    assert there.read_text() == "mine"
    assert [file.name for file in copy.parent.iterdir() if "copy" in file.name] == [name]


def test_a_name_that_is_taken_meanwhile(store: SqliteStore, copy: Path) -> None:
    store.call(new_job())

    def take(copied: int, size: int) -> None:
        copy.write_text("mine")

    with pytest.raises(bp.BadSetup, match="never overwrites a file"):
        store.backup(str(copy), take)
    assert copy.read_text() == "mine"
    assert not list(copy.parent.glob("*.part-*"))


def test_two_at_once(store: SqliteStore, tmp_path: Path) -> None:
    store.call(new_job())
    threads = [threading.Thread(target=store.backup, args=(str(tmp_path / f"{n}.db"),)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sound(tmp_path / "0.db")
    assert sound(tmp_path / "1.db")


def test_a_damaged_store_is_no_backup(store: SqliteStore, path: Path, copy: Path) -> None:
    """Somebody who relied on such a copy, and threw the older one away, would have none."""
    for _ in range(50):
        store.call(new_job())
    store.close()
    with other(path) as db:
        [root] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'event'").fetchone()
        [size] = db.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xa5" * size)
    with pytest.raises(bp.Corrupted, match=r"store.db is damaged"):
        store.backup(str(copy))
    assert not list(copy.parent.glob("copy*"))


def test_a_folder_that_is_not_there(store: SqliteStore, tmp_path: Path) -> None:
    with pytest.raises(bp.BadSetup, match=r"there is no folder .*/none for the backup"):
        store.backup(str(tmp_path / "none" / "copy.db"))


def _fill(store: SqliteStore) -> None:
    """With so much that a copy takes several steps."""
    for _ in range(40):
        store.call(new_job(payload=f'"{"x" * 250_000}"'))


def test_a_killed_one_leaves_no_file_of_that_name(store: SqliteStore, path: Path, copy: Path) -> None:
    _fill(store)
    program = """
import sys, time
from batonpass.coordinator.sqlite.store import SqliteStore
def stay(copied, size):
    print(copied, flush=True)
    sys.stdin.readline()
SqliteStore(sys.argv[1], "default").backup(sys.argv[2], stay)
"""
    process = run(program, path, copy)
    said(process)
    process.kill()
    process.communicate()
    assert not copy.exists()
    store.call(new_job())
    store.backup(str(copy))
    assert sound(copy)


def test_a_command_that_is_told_to_stop_leaves_nothing(store: SqliteStore, path: Path, copy: Path) -> None:
    _fill(store)
    program = """
import pathlib, sys
from batonpass.cli import backup
def stay(copied, size):
    print(copied, flush=True)
    sys.stdin.readline()
backup._show, sys.stderr.isatty = stay, lambda: True
backup.backup(pathlib.Path(sys.argv[2]), f"sqlite:///{sys.argv[1]}")
"""
    process = run(program, path, copy)
    said(process)
    assert list(copy.parent.glob("copy*"))
    process.terminate()
    process.communicate()
    assert process.returncode == -signal.SIGTERM
    assert not list(copy.parent.glob("copy*"))


def test_other_stores_say_how(redis_url: str, copy: Path) -> None:
    with bp.connect("memory://") as memory, pytest.raises(bp.BadSetup, match="nothing to back up"):
        memory.backup(copy)
    with bp.connect(redis_url) as coordinator, pytest.raises(bp.BadSetup, match="redis-cli -u URL --rdb FILE"):
        coordinator.backup(copy)
    assert not copy.exists()


@pytest.fixture
def line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(f"sqlite:///{tmp_path}/line.db", capsys, monkeypatch)


def test_the_command(line: CommandLine, copy: Path) -> None:
    with bp.connect(line.url) as coordinator:
        coordinator.save(thread="t", agent="a", state=1)
    ran = line("backup", str(copy))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"copied {line.url} to {copy}: {copy.stat().st_size:,} bytes\n"
    with bp.connect(f"sqlite:///{copy}") as coordinator:
        assert len(coordinator.timeline(thread="t")) == 1
    assert "already exists, and a backup never overwrites a file" in line("backup", str(copy)).complaint


def test_the_command_makes_no_store(line: CommandLine, copy: Path) -> None:
    assert "there is no store" in line("backup", str(copy)).complaint
    assert os.listdir(copy.parent) == []
