"""A full disk: nothing is half written, the caller is told, and jobs end as soon as there is space again."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import Bench, new_checkpoint, new_job
from tests.harness.stores import SqliteHarness
from tests.sqlite.beside import finished, run, sound

FULL = "no space left for .*store.db: nothing was written, free some and try again"


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of 1 MB, where this user may mount one."""
    disk = folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a file system")
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """While it lasts there is no byte left."""
    with (disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while ballast.write(b"x" * 4096):
            pass
    yield
    (disk / "ballast").unlink()


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
