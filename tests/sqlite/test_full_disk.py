"""A full disk: nothing is half written, the caller is told, and jobs end as soon as there is space again."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import JobRow
from batonpass.coordinator.sqlite import wal
from batonpass.coordinator.sqlite.checkup import examine
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import Bench, new_checkpoint, new_job
from tests.harness.stores import SqliteHarness
from tests.rules.scenes import SCENES
from tests.sqlite.beside import finished, run, sound

_PAGE = 4096  # of the file system
FULL = "no space left for .*store.db: nothing was written, free some and try again"


@contextmanager
def small_disk(folder: Path, megabytes: int = 1) -> Iterator[Path]:
    """A file system of a few MB, where this user may mount one."""
    disk = folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(disk)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a file system")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@contextmanager
def filled(disk: Path, left: int = 0) -> Iterator[None]:
    """A block in which this many pages are left."""
    with (disk / "ballast").open("wb", buffering=0) as ballast:
        with suppress(OSError):
            while ballast.write(b"x" * _PAGE):
                pass
        ballast.truncate(max(ballast.tell() - left * _PAGE, 0))
    try:
        yield
    finally:
        (disk / "ballast").unlink()


def refused(bench: Bench, command: c.Command[Any]) -> bool:
    """Whether a command was, and left nothing behind."""
    before = bench.harness.dump()
    try:
        bench.do(command)
    except bp.Overloaded:
        assert bench.harness.dump() == before
        return True
    return False


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    with small_disk(tmp_path) as disk, Bench(SqliteHarness(disk / "store.db"), side="sync") as bench:
        fence = bench.start()
        bench.save(fence, "before", thread=fence.job_id)
        with filled(disk):
            for command in (
                c.Save(fence.job_id, new_checkpoint("x" * 50_000, thread=fence.job_id), fence),
                c.Complete(fence, b"x" * 50_000),
                new_job(payload=f'"{"x" * 50_000}"'),
            ):
                with bench.refused(bp.Overloaded, FULL):
                    bench.do(command)
            assert bench.job(fence.job_id).state == "working"
        bench.save(fence, "after", thread=fence.job_id)
        bench.do(c.Complete(fence, b"result"))
        assert bench.state(fence.job_id)[0] == "completed"
        assert sound(disk / "store.db")


def test_each_page_that_a_command_may_lack(tmp_path: Path) -> None:
    """With no page left, with one, and so on until it is done: it is done whole or not at all. (A small one may fit
    into the last page of the store's log.)"""
    refusals = dict.fromkeys(SCENES, 0)
    with small_disk(tmp_path) as disk:
        for name, scene in SCENES.items():
            for file in disk.iterdir():
                file.unlink()
            with Bench(SqliteHarness(disk / "store.db"), side="sync") as bench:
                command = scene(bench)
                for left in range(40):
                    with filled(disk, left):
                        if not refused(bench, command):
                            break
                        refusals[name] += 1
                assert refusals[name] < 40, name
            assert sound(disk / "store.db"), name
    assert sum(map(bool, refusals.values())) > len(SCENES) * 3 / 4


async def test_a_crowd_whose_commits_go_together(tmp_path: Path) -> None:
    """Each is told what became of its own."""
    with small_disk(tmp_path, 3) as disk:
        store = SqliteStore(str(disk / "store.db"), "default")
        await store.aopen()
        for left in (4, 12, 20):
            jobs = [new_job(payload=f'"{"x" * 100 * number}"') for number in range(24)]
            with filled(disk, left):
                answers = await asyncio.gather(*map(store.acall, jobs), return_exceptions=True)
            assert {type(each) for each in answers} <= {JobRow, bp.Overloaded}
            told = {job.job_id for job, each in zip(jobs, answers, strict=True) if isinstance(each, JobRow)}
            kept = {row.id for row in await store.acall(c.ListJobs(500))}
            assert kept & {job.job_id for job in jobs} == told
        await store.acall(new_job())
        await store.aclose()
        assert sound(disk / "store.db")


def test_pages_that_can_not_be_moved_out_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits find room in the log, but the database none: nothing is lost, also when the store is closed then."""
    monkeypatch.setattr(wal, "LARGE", 25 * _PAGE)
    monkeypatch.setattr(wal, "_AGAIN", 0.0)
    with small_disk(tmp_path, 3) as disk:
        saved: list[str] = []
        for left in (3, 9, 30):
            store = SqliteStore(str(disk / "store.db"), "default")
            store.open()
            with filled(disk, left), suppress(bp.Overloaded):
                for _ in range(100):
                    new = new_checkpoint("x" * 2000)
                    store.call(c.Save("t", new))
                    saved.append(new.id)
            with filled(disk):
                store.close()
        with Bench(SqliteHarness(disk / "store.db"), side="sync") as bench:
            assert {row.id for row in bench.line("t")} >= set(saved)
        assert sound(disk / "store.db")


def test_a_log_leaves_room_for_what_is_in_it(tmp_path: Path) -> None:
    """A log that took all of a small disk could never be emptied: the file has to grow for that."""
    with small_disk(tmp_path, 8) as disk, Bench(SqliteHarness(disk / "store.db"), side="sync") as bench:
        with suppress(bp.Overloaded):
            for number in range(1000):
                bench.save(None, f"{number}" * 20_000, thread=f"t{number}")
        file, log = (disk / name for name in ("store.db", "store.db-wal"))
        assert file.stat().st_size > 2 * log.stat().st_size


def test_a_backup_that_finds_no_room(path: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path, 3) as disk, Bench(SqliteHarness(path), side="sync") as bench:
        for _ in range(20):
            bench.save(None, "x" * 10_000)
        for left in range(0, 150, 5):
            with suppress(bp.Unavailable), filled(disk, left):
                bench.store.backup(str(disk / "copy.db"))  # type: ignore[attr-defined]
                break
            assert not list(disk.iterdir())
        assert [file.name for file in disk.iterdir()] == ["copy.db"]
        assert sound(disk / "copy.db")


def test_the_doctor_says_that_it_is_full(tmp_path: Path) -> None:
    with small_disk(tmp_path) as disk:
        with Bench(SqliteHarness(disk / "store.db"), side="sync") as bench:
            bench.do(new_job())
        for left, level, text in (
            (100, "warn", "nearly full: free some space, or use `batonpass prune`"),
            (2, "fail", "full: "),
        ):
            with filled(disk, left):
                found = examine(str(disk / "store.db"), "default").findings
            assert [each for each in found if each.level == level and text in each.text]


def test_a_disk_that_is_full_at_the_start(tmp_path: Path) -> None:
    with small_disk(tmp_path) as disk:
        store = SqliteStore(str(disk / "store.db"), "default")
        with filled(disk), pytest.raises(bp.Unavailable):
            store.open()
        store.call(new_job())
        store.close()
        assert sound(disk / "store.db")


def test_a_file_that_may_not_grow(path: Path) -> None:
    """The same as SQLite tells it, where no file system can be mounted."""
    with Bench(SqliteHarness(path), side="sync") as bench:
        fence = bench.start()
        with bench.store._writing as connection:  # type: ignore[attr-defined]
            connection.execute("PRAGMA max_page_count = 1")
        large = c.Save(fence.job_id, new_checkpoint("x" * 1_000_000, thread=fence.job_id), fence)
        with bench.refused(bp.Overloaded, FULL):
            bench.do(large)
        with bench.store._writing as connection:  # type: ignore[attr-defined]
            connection.execute("PRAGMA max_page_count = 1000000")
        bench.do(large)
        bench.do(c.Complete(fence, b"result"))


def test_a_limit_of_the_process(path: Path) -> None:
    program = """
import resource, sys
from batonpass.contracts.errors import Unavailable
from batonpass.coordinator.sqlite.store import SqliteStore
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    SqliteStore(sys.argv[1], "default").open()
except Unavailable as error:
    print(error)
"""
    assert "look at its space, quota and health" in finished(run(program, path))
    store = SqliteStore(str(path), "default")
    store.call(new_job())
    store.close()
