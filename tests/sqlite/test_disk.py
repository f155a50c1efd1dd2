"""What was acknowledged is on the disk: SQLite does not wait for it, so we do, and many commits share a wait."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Place
from batonpass.coordinator.sqlite import disk, group_commit, wal
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_checkpoint, new_job
from tests.harness.waiting import wait_until
from tests.sqlite.beside import other

pytestmark = pytest.mark.skipif(not disk.SHARED, reason="SQLite waits by itself here")
_fdatasync = os.fdatasync


class Disk:
    """The disk, as seen by code that syncs. `lost` has the files as a power loss would leave them."""

    def __init__(self, path: Path, lost: Path) -> None:
        self._path = path
        self.lost = lost / path.name
        self.fails: OSError | None = None
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.asked = 0

    def fdatasync(self, file: int) -> None:
        self.asked += 1
        assert self.goes_on.wait(30)
        if self.fails is not None:
            raise self.fails
        _fdatasync(file)
        log, lost = Path(f"{self._path}-wal"), Path(f"{self.lost}-wal")
        lost.unlink(missing_ok=True)
        shutil.copy(self._path, self.lost)
        if log.exists():  # else all was moved when the last connection was closed
            assert os.path.samestat(os.fstat(file), log.stat()), "another file than the log was written"
            shutil.copy(log, lost)


@pytest.fixture
def seen(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    lost = tmp_path / "after the power loss"
    lost.mkdir()
    made = Disk(path, lost)
    monkeypatch.setattr(os, "fdatasync", made.fdatasync)
    yield made
    made.goes_on.set()


def _ids(path: Path) -> list[str]:
    """The thread's checkpoints, oldest first, in a file as it lies there."""
    with other(path) as db:
        return [row[0] for row in db.execute("SELECT id FROM checkpoint ORDER BY step_index")]


def _save(store: SqliteStore) -> str:
    new = new_checkpoint("x" * 9000)
    store.call(c.Save("t", new))
    return new.id


def test_each_acknowledged_write_survives_a_power_loss(
    store: SqliteStore, seen: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the log was moved to the database, begun anew or emptied since the write before."""
    monkeypatch.setattr(wal, "_COMMITS", 4)
    monkeypatch.setattr(wal, "_MANY", 20)
    acknowledged: list[str] = []
    for number in range(40):
        acknowledged.append(_save(store))
        if number % 15 == 14:
            with other(seen.lost.parents[1] / seen.lost.name) as db:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            acknowledged.append(_save(store))
        assert _ids(seen.lost) == acknowledged
        for leftover in seen.lost.parent.iterdir():
            leftover.unlink()


def test_it_is_not_acknowledged_before(store: SqliteStore, path: Path, seen: Disk) -> None:
    seen.goes_on.clear()
    with ThreadPoolExecutor(1) as pool:
        saving = pool.submit(_save, store)
        wait_until(lambda: len(_ids(path)) == 1 and seen.asked == 1)
        assert not saving.done()
        seen.goes_on.set()
        assert _ids(path) == [saving.result(20)]


def test_the_same_again_waits_too(store: SqliteStore, seen: Disk) -> None:
    """It writes nothing, but what it answers must be as safe as what was written."""
    job = new_job()
    store.call(job)
    seen.asked = 0
    assert store.call(job).id == job.job_id
    assert seen.asked == 1


def test_those_who_write_meanwhile_share_the_next_wait(store: SqliteStore, path: Path, seen: Disk) -> None:
    seen.goes_on.clear()
    with ThreadPoolExecutor(20) as pool:
        saving = [pool.submit(_save, store)]
        wait_until(lambda: seen.asked == 1)
        saving += [pool.submit(_save, store) for _ in range(19)]
        wait_until(lambda: len(_ids(path)) == 20)
        seen.goes_on.set()
        assert {each.result(20) for each in saving} == set(_ids(path))
    assert seen.asked <= 3, "the first one, and one or two for all others"
    assert set(_ids(seen.lost)) == set(_ids(path))


def test_what_is_committed_during_a_wait_has_one_of_its_own(store: SqliteStore, path: Path, seen: Disk) -> None:
    """Nobody knows whether the disk had it when the wait began."""
    seen.goes_on.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(_save, store)
        wait_until(lambda: seen.asked == 1)
        second = pool.submit(_save, store)
        wait_until(lambda: len(_ids(path)) == 2)
        seen.goes_on.set()
        assert {first.result(20), second.result(20)} == set(_ids(path))
    assert seen.asked == 2


def test_a_batch_waits_for_the_last_of_its_commits(
    store: SqliteStore, seen: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when another one has waited for the first, meanwhile."""
    monkeypatch.setattr(group_commit, "_LONGEST", 1)

    def waits_once(connection: object) -> None:
        if not seen.asked:
            store._disk.wait(1)

    monkeypatch.setattr(store._commits, "_committed", waits_once)
    puts = [c.Put(new_checkpoint(thread="t", place=Place("", key, ""))) for key in "ab"]
    assert store._commits.write_all(puts, [False, False])
    assert seen.asked == 2
    assert _ids(seen.lost) == [put.checkpoint.id for put in puts]


def test_readers_do_not_wait(store: SqliteStore, seen: Disk) -> None:
    _save(store)
    seen.asked = 0
    assert len(store.call(c.Timeline("t"))) == 1
    assert store.call(c.Latest("t")) is not None
    assert seen.asked == 0


def test_what_is_refused_does_not_wait(store: SqliteStore, seen: Disk) -> None:
    with pytest.raises(bp.NotFound):
        store.call(c.Expire("c" + "0" * 23))
    assert seen.asked == 0


def test_a_disk_that_fails_is_not_trusted_again(store: SqliteStore, seen: Disk) -> None:
    """The next time, it may take what it failed to write for written."""
    seen.fails = OSError(errno.EIO, "Input/output error")
    with pytest.raises(bp.Unreachable, match=r"Input/output error.*may get lost"):
        _save(store)
    seen.fails = None
    with pytest.raises(bp.Unreachable, match=r"Input/output error.*may get lost"):
        _save(store)


def test_a_log_that_could_not_be_opened_is_opened_for_the_next_commit(
    store: SqliteStore, path: Path, seen: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that had too many files open for a moment need not begin anew."""

    def none_left(path: str, flags: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch, pytest.raises(bp.Unreachable, match=r"Too many open files.*do the same again"):
        patch.setattr(os, "open", none_left)
        _save(store)
    _save(store)
    assert len(_ids(path)) == 2
    assert _ids(seen.lost) == _ids(path)


def test_a_store_that_is_opened_again_writes_to_its_new_log(store: SqliteStore, path: Path, seen: Disk) -> None:
    first = _save(store)
    store.close()  # the last connection: the log is removed
    assert not path.with_name(f"{path.name}-wal").exists()
    second = _save(store)
    assert _ids(seen.lost) == [first, second]


def test_a_fork_has_its_own(store: SqliteStore, path: Path, seen: Disk) -> None:
    """Also one in the middle of a wait, of which the child has only the lock."""
    seen.goes_on.clear()
    with ThreadPoolExecutor(1) as pool:
        saving = pool.submit(_save, store)
        wait_until(lambda: seen.asked == 1)
        if (child := os.fork()) == 0:
            os.fdatasync = _fdatasync
            try:
                _save(store)
            finally:
                os._exit(0)
        try:
            wait_until(lambda: os.waitpid(child, os.WNOHANG)[0] == child)
        except AssertionError:
            os.kill(child, signal.SIGKILL)
            seen.goes_on.set()
            raise
        assert len(_ids(path)) == 2
        seen.goes_on.set()
        saving.result(20)
    _save(store)
    assert len(_ids(seen.lost)) == 3
