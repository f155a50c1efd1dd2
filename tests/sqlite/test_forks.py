"""Forks: a child shares no connection with its parent, whatever either of them does next."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.sqlite.beside import finished, run, sound


def test_a_handle_over_a_fork(path: Path) -> None:
    """The child opens its own connection; that it ends does the parent's no harm."""
    program = """
import os, sys
from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_job
store = SqliteStore(sys.argv[1], "default")
store.call(new_job())
for _ in range(3):
    child = os.fork()
    if child == 0:
        for _ in range(5):
            store.call(new_job())
        grandchild = os.fork()
        if grandchild == 0:
            store.call(new_job())
            sys.exit(0)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
    for _ in range(5):
        store.call(new_job())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    store.call(new_job())
print(len(store.call(c.ListJobs())))
"""
    assert finished(run(program, path)) == str(1 + 3 * (5 + 1 + 5 + 1))
    assert sound(path)


def test_a_parent_that_closes_takes_nothing_from_its_child(path: Path) -> None:
    """The last connection that closes removes the write-ahead log. If a child only believed that it holds locks, the
    parent's connection would be the last, and what the child commits afterwards would be gone with the log."""
    program = """
import os, sys
from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_job
store = SqliteStore(sys.argv[1], "default")
store.call(new_job())
written, closed = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    store.call(new_job())
    os.write(written[1], b"x")
    os.read(closed[0], 1)
    for _ in range(5):
        store.call(new_job())
    os._exit(0)
os.read(written[0], 1)
store.close()
os.write(closed[1], b"x")
assert os.waitpid(child, 0)[1] == 0
print(len(SqliteStore(sys.argv[1], "default").call(c.ListJobs())))
"""
    assert finished(run(program, path)) == "7"
    assert sound(path)


def test_a_watch_over_a_fork(path: Path) -> None:
    """It goes on in both, and wakes: what happened while it had no connection is not known."""
    program = """
import os, sys, time
from batonpass.coordinator.sqlite.store import SqliteStore
from batonpass.coordinator.store import Topic
from tests.harness.bench import new_job
store = SqliteStore(sys.argv[1], "default")
store.open()
watch = store.watch(Topic())
woken = os.pipe()
child = os.fork()
if child == 0:
    watch.wait(20)
    os.write(woken[1], b"x")
    began = time.monotonic()
    watch.wait(20)
    os._exit(0 if time.monotonic() - began < 15 else 1)
os.read(woken[0], 1)
while os.waitpid(child, os.WNOHANG) == (0, 0):
    store.call(new_job())
    watch.wait(0.01)
"""
    finished(run(program, path))


def test_forks_under_load(path: Path) -> None:
    """Two threads fork while others write, and every child writes, too, as long as the parent does. No child hangs in a
    lock of a thread that it does not have, nothing is carried out twice, and nothing acknowledged is lost."""
    program = """
import os, sys, threading
from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_job
store = SqliteStore(sys.argv[1], "default")
log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
stop = threading.Event()

def submit():
    os.write(log, f"{store.call(new_job()).id}\\n".encode())

def write():
    while not stop.is_set():
        submit()

def fork():
    for _ in range(10):
        child = os.fork()
        if child == 0:
            for _ in range(5):
                submit()
            os._exit(0)
        children.append(child)

children = []
threads = [threading.Thread(target=write) for _ in range(3)]
forking = [threading.Thread(target=fork) for _ in range(2)]
for thread in threads + forking:
    thread.start()
for thread in forking:
    thread.join()
codes = [os.waitpid(child, 0)[1] for child in children]
stop.set()
for thread in threads:
    thread.join()
store.close()
noted = open(sys.argv[2]).read().split()
kept = [row.id for row in store.call(c.ListJobs(100_000))]
assert sorted(noted) == sorted(kept), (len(noted), len(kept))
print(codes == [0] * 20)
"""
    assert finished(run(program, path, path.with_name("log"))) == "True"
    assert sound(path)


def test_locks_that_a_thread_held_over_a_fork(path: Path) -> None:
    """One that wakes others, and one that waits for the disk. The child has the locks, and not the threads."""
    program = """
import os, sys
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_job
store = SqliteStore(sys.argv[1], "default")
store.call(new_job())
with store._bell._changed, store._disk._lock:
    child = os.fork()
if child == 0:
    store.call(new_job())
    store.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
with store._disk._lock:
    child = os.fork()
    if child == 0:
        store.close()
        os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    finished(run(program, path))


def test_a_child_calls_nothing_in_its_parents_loop(path: Path) -> None:
    program = """
import asyncio, os, sys
from batonpass.coordinator.sqlite.store import SqliteStore
from batonpass.coordinator.store import Topic
from tests.harness.bench import new_job
store = SqliteStore(sys.argv[1], "default")

async def main():
    watch = store.watch(Topic())
    await watch.aopen()
    waiting = asyncio.create_task(watch.await_(60))
    await asyncio.sleep(0)
    child = os.fork()
    if child == 0:
        loop = waiting.get_loop()
        before = len(loop._ready)
        store.call(new_job())
        os._exit(len(loop._ready) - before)
    assert os.waitpid(child, 0)[1] == 0
    waiting.cancel()

asyncio.run(main())
"""
    finished(run(program, path))


def test_threads_of_a_child_that_first_use_it_at_once(path: Path) -> None:
    """Each in its own loop. A child begins with all that it needs, before any of its threads runs: nothing that one of
    them has asked of may be replaced by another, which is just about to find out that it is in a child."""
    program = """
import asyncio, os, sys, threading
from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_job
store = SqliteStore(sys.argv[1], "default")
asyncio.run(store.acall(new_job()))
asyncio.run(store.acall(c.ListJobs()))

def parts():
    threads = [store._reader, store._writer, store._syncer]
    return [(each._queue, each._lock, each._left) for each in threads] + [store._disk._lock, store.lifetime._alone]

def use():
    begin.wait()
    asyncio.run(store.acall(new_job()))
    asyncio.run(store.acall(c.ListJobs()))

before = parts()
child = os.fork()
if child == 0:
    sys.setswitchinterval(1e-5)
    mine, begin = parts(), threading.Barrier(4)
    users = [threading.Thread(target=use) for _ in range(4)]
    for each in users:
        each.start()
    for each in users:
        each.join()
    os._exit(0 if mine == parts() and mine[0] != before[0] else 1)
assert os.waitpid(child, 0)[1] == 0
print(len(store.call(c.ListJobs())))
"""
    assert finished(run(program, path)) == "5"


_COLLECTS = """
import gc, os, sqlite3, weakref
from batonpass.coordinator.sqlite.handle import Handle

class Circle:
    def __init__(self):
        self.circle = self

gc.set_threshold(100_000)
handle = Handle(lambda: sqlite3.connect(":memory:"))
weakref.finalize(Circle(), handle.close)
hold = Handle.hold

def holds(self):
    hold(self)
    gc.set_threshold(10)
    for _ in range(100):
        Circle()

Handle.hold = holds
if (child := os.fork()) == 0:
    os._exit(0 if gc.isenabled() else 1)
print(os.waitpid(child, 0)[1], gc.isenabled())
"""


def test_what_is_freed_during_a_fork_does_not_wait_for_it() -> None:
    """It may close a handle, as what a forgotten saver leaves does."""
    done = subprocess.run([sys.executable, "-c", _COLLECTS], capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout == "0 True\n", done.stderr
