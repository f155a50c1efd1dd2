"""Many threads and processes at one file: each gets its turn, and none is told of a lock."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite import waiting
from batonpass.coordinator.sqlite.store import SqliteStore
from batonpass.coordinator.store import Topic
from tests.harness.bench import new_job, new_target
from tests.sqlite.beside import finished, other, run, said, sound


def test_a_writer_waits_for_its_turn(store: SqliteStore, path: Path) -> None:
    with other(path) as db, ThreadPoolExecutor(1) as pool:
        db.execute("BEGIN IMMEDIATE")
        waits = pool.submit(store.call, new_job())
        with pytest.raises(TimeoutError):
            waits.result(0.2)
        db.execute("COMMIT")
        assert waits.result(10).state == "submitted"


def test_a_writer_does_not_wait_for_ever(store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "BUSY_DEADLINE", 0.2)
    with other(path) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            bp.Overloaded, match=r"was busy for 0.2 s: nothing was written, try again. .* stopped process \(Ctrl-Z"
        ):
            store.call(new_job())
        db.execute("COMMIT")
    assert store.call(c.ListJobs()) == []
    store.call(new_job())


def test_readers_and_idle_workers_wait_for_nobody(store: SqliteStore, path: Path) -> None:
    """Not even for a writer of the same handle that waits itself."""
    job_id = store.call(new_job()).id
    with other(path) as db, ThreadPoolExecutor(1) as pool:
        db.execute("BEGIN IMMEDIATE")
        waits = pool.submit(store.call, new_job())
        began = time.monotonic()
        assert store.call(c.ReadJob(job_id)).id == job_id
        assert store.call(c.Claim("w", ((new_target("review").queue, 1000),), ("lease",))) == []
        assert time.monotonic() - began < waiting.BUSY_DEADLINE / 2
        assert not waits.done()
        db.execute("COMMIT")
        waits.result(10)


def test_a_read_after_a_canceled_task_sees_its_writes(store: SqliteStore, path: Path) -> None:
    """As the next run on a thread does, whose first look tells it where to continue."""

    async def main() -> str:
        job = new_job()
        with other(path) as db:
            db.execute("BEGIN IMMEDIATE")
            writes = asyncio.create_task(store.acall(job))
            await asyncio.sleep(0)
            writes.cancel()
            await asyncio.wait([writes])
            reads = asyncio.create_task(store.acall(c.ReadJob(job.job_id)))
            await asyncio.wait([reads], timeout=0.2)
            db.execute("COMMIT")
        return (await reads).id if writes.cancelled() else ""

    assert asyncio.run(main())


def test_a_moment_without_readers_is_waited_for(store: SqliteStore, path: Path) -> None:
    """As when the first connection recovers the log, or the last one removes it."""
    job_id = store.call(new_job()).id
    store.close()
    with other(path) as db, ThreadPoolExecutor(3) as pool:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        reads = pool.submit(store.call, c.ReadJob(job_id))
        writes = pool.submit(store.call, new_job())
        watches = pool.submit(store.watch(Topic()).wait, 0.0)
        for waits in (reads, writes, watches):
            with pytest.raises(TimeoutError):
                waits.result(0.1)
        db.execute("COMMIT")
        db.close()
        assert reads.result(10).id == job_id
        writes.result(10)
        watches.result(10)


def test_one_handle_in_many_threads(store: SqliteStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: store.call(new_job()), range(80)))
    assert len(store.call(c.ListJobs(100))) == 80


def test_one_handle_in_many_tasks(store: SqliteStore) -> None:
    async def main() -> None:
        await asyncio.gather(*(store.acall(new_job()) for _ in range(80)))

    asyncio.run(main())
    assert len(store.call(c.ListJobs(100))) == 80


# Opens the file, which may be new, and lets threads submit, claim, save, complete, read and watch until a deadline.
_BUSY = """
import sys, time, threading, traceback
import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite.store import SqliteStore
from batonpass.coordinator.store import Topic
from tests.harness.bench import fence_of, new_checkpoint, new_job, new_target
path, seconds, threads = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
store, done, failed = SqliteStore(path, "default"), [], []
end = time.monotonic() + seconds

def work():
    try:
        watch = store.watch(Topic())
        while time.monotonic() < end:
            store.call(new_job())
            watch.wait(0.001)
            for delivery in store.call(c.Claim("w", ((new_target().queue, 60_000),), (mint("l"),))):
                fence = fence_of(delivery)
                store.call(c.Save(fence.job_id, new_checkpoint("x" * 5000, thread=fence.job_id), fence))
                assert store.call(c.Latest(fence.job_id)).id
                store.call(c.Complete(fence, b"done"))
                done.append(fence.job_id)
        watch.close()
    except Exception:
        failed.append(traceback.format_exc())

started = [threading.Thread(target=work) for _ in range(threads)]
for thread in started:
    thread.start()
for thread in started:
    thread.join()
store.close()
sys.exit("".join(failed) if failed else print(len(done)))
"""


def test_many_threads_of_many_processes(path: Path) -> None:
    """On a new file, which all of them make at once. Handles open and close all the time: the hardest moments."""
    processes = [run(_BUSY, path, 2, 3) for _ in range(4)]
    for process in processes:
        assert said(process) == "ready"
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    done = [int(finished(process)) for process in processes]
    assert min(done) > 0, "a process did not get its turn"
    store = SqliteStore(str(path), "default")
    completed = [row for row in store.call(c.ListJobs(100_000)) if row.state == "completed"]
    store.close()
    assert len(completed) == sum(done)
    assert sound(path)


def test_another_processs_commit_wakes(store: SqliteStore, path: Path) -> None:
    program = """
import sys
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_job
SqliteStore(sys.argv[1], "default").call(new_job())
"""
    watch = store.watch(Topic())
    process = run(program, path)
    began = time.monotonic()
    while not store.call(c.ListJobs()):
        watch.wait(100)
    assert time.monotonic() - began < 80
    finished(process)
    watch.close()
