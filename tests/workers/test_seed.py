"""The process that forks children is itself forked from the worker: nothing is imported twice."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import batonpass as bp
from tests.harness.waiting import wait_until

from .families import children, wait_for_end

DEADLINE = 60.0
# The app that is started with `batonpass worker`. Notes who imports it, and who runs its agents.
APP = """
import os
import batonpass as bp

def note(what):
    with open("evidence.log", "a") as file:
        print(what, os.getpid(), file=file, flush=True)

note("imported")
{more}
class Task(bp.Contract, name="seed.task"):
    text: str = ""

app = bp.App("seeded")

@app.agent("seed-apart", accepts=Task, returns=Task, isolation="process")
def apart(task):
    note("ran")
    return task

@app.agent("seed-here", accepts=Task, returns=Task)
def here(task):
    return task
"""


class Task(bp.Contract, name="seed.task"):
    text: str = ""


class Seeded:
    """A worker of the app, in a folder of its own."""

    def __init__(self, folder: Path, *options: str, more: str = "", store: str = "sqlite:///jobs.db") -> None:
        (folder / "seeded.py").write_text(APP.format(more=more))
        self.folder, self.url = folder, f"sqlite:///{folder / 'jobs.db'}"
        command = [sys.executable, "-m", "batonpass", "worker", "seeded:app", "--store", store, *options]
        with (folder / "worker.out").open("w") as out:
            self.process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, start_new_session=True)

    def said(self) -> str:
        return (self.folder / "worker.out").read_text()

    def did(self, what: str) -> list[int]:
        """The processes that did it."""
        log = self.folder / "evidence.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [int(pid) for each, _, pid in (line.partition(" ") for line in lines) if each == what]

    def serves(self) -> Seeded:
        wait_until(lambda: " serves " in self.said(), timeout=DEADLINE, what=self.said())
        return self

    def run_one(self) -> int:
        """Run a job. Returns the process that ran it."""
        with bp.connect(self.url) as coordinator:
            coordinator.submit("seed-apart", Task(), returns=Task).result(timeout=DEADLINE)
        return self.did("ran")[-1]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(DEADLINE) == 0, self.said()


Start = Callable[..., Seeded]


@pytest.fixture
def seeded(tmp_path: Path) -> Iterator[Start]:
    made: list[Seeded] = []

    def start(*options: str, **more: str) -> Seeded:
        made.append(Seeded(tmp_path, *options, **more))
        return made[-1]

    yield start
    for each in made:
        each.process.kill()
        each.process.wait()


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_an_app_is_imported_once(seeded: Start) -> None:
    worker = seeded().serves()
    child = worker.run_one()
    zygote = parent_of(child)
    assert worker.did("imported") == [worker.process.pid]
    assert parent_of(zygote) == worker.process.pid
    assert os.getpgid(zygote) == zygote  # Ctrl-C is for the worker
    worker.stop()
    wait_for_end(zygote, child)


def test_after_its_end_another_one_is_started(seeded: Start) -> None:
    worker = seeded().serves()
    zygote = parent_of(worker.run_one())
    os.kill(zygote, signal.SIGKILL)
    wait_until(lambda: len(worker.did("imported")) == 2, timeout=DEADLINE, what=worker.said())
    for _ in range(2):
        os.kill(worker.run_one(), signal.SIGKILL)  # the first child, which went on
    assert parent_of(worker.run_one()) == worker.did("imported")[1] != zygote
    worker.stop()


def test_it_ends_with_a_worker_that_was_killed(seeded: Start) -> None:
    worker = seeded().serves()
    child = worker.run_one()
    zygote = parent_of(child)
    worker.process.kill()
    worker.process.wait()
    wait_for_end(zygote, child)


@pytest.mark.parametrize("closed", ["sys.stdout = None", "sys.stdout.close()"])
def test_where_nobody_reads_what_is_printed(seeded: Start, closed: str) -> None:
    """A daemon's is closed. The worker did not start."""
    worker = seeded(more=f"import sys\n{closed}").serves()
    worker.run_one()
    worker.stop()


def test_it_is_not_made_where_the_app_has_threads(seeded: Start) -> None:
    threads = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()"
    worker = seeded(more=threads).serves()
    worker.run_one()
    assert "children are spawned, not forked" in worker.said()
    assert worker.did("imported")[0] == worker.process.pid
    worker.stop()


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_it_is_not_made_where_its_end_would_not_be_heard(seeded: Start, number: int) -> None:
    """By an old kernel, or in a container that forbids it. (asyncio has its own way then, for a process it starts.)"""
    worker = seeded(more=f"def refuse(*_):\n    raise OSError({number}, 'no')\nos.pidfd_open = refuse").serves()
    child = worker.run_one()
    assert worker.did("imported") == [worker.process.pid, parent_of(child)]
    worker.stop()


COLLECTS = """
import signal
def collect(*_):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
signal.signal(signal.SIGCHLD, collect)
"""


def test_an_app_that_collects_all_processes_that_end(seeded: Start) -> None:
    worker = seeded(more=COLLECTS).serves()
    worker.run_one()
    worker.stop()
    assert "Traceback" not in worker.said()


def test_it_is_not_made_for_agents_that_need_no_process(seeded: Start) -> None:
    worker = seeded("--agents", "seed-here").serves()
    assert not children(worker.process.pid)
    worker.stop()


def test_none_is_left_by_a_worker_that_could_not_start(seeded: Start) -> None:
    """With --reload it tries again and again, in the same process."""
    worker = seeded("--reload", store="redis://127.0.0.1:1")
    wait_until(lambda: "this worker can't start" in worker.said(), timeout=DEADLINE, what=worker.said())
    wait_until(lambda: not children(worker.process.pid), timeout=DEADLINE, what="a pause between two attempts")
    worker.process.send_signal(signal.SIGTERM)
    worker.process.wait(DEADLINE)
