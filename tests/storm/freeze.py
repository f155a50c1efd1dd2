"""Freezes: a worker with many jobs stops for longer than its leases, as a machine may; others finish them; it wakes.

    python -m tests.storm.freeze --store redis --tries 200 --seconds 30 [--lease 4]

Nothing that it then writes may be accepted, and no job may end twice. A try is one job that was frozen in its middle.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.examples.incident_desk.pausing import is_locked
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until
from tests.kills.harness import Zygote
from tests.kills.test_zombies import kept, writes
from tests.rules.test_acknowledged import ROOT
from tests.storm.chaos_workers import alive, descendants
from tests.storm.freeze_app import Task, app

# How many jobs of a round run in children, each of which is a process.
_APART, _ROUND = 5, 50
_INSIGHT = re.compile(r"job (\w+) hop .*(?:refused: |stopped, the lease)")


@dataclass
class Report:
    """What was tried, and what must not be."""

    tries: int = 0
    insights: int = 0
    refused: int = 0
    problems: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return (
            f"{self.tries} jobs frozen in their middle and taken over: {self.insights} of their holders heard of it, "
            f"{self.refused} more writes tried with their leases and refused, {len(self.problems)} problems"
        )


class Worker:
    """A worker process with the processes that it starts."""

    def __init__(self, parent: Zygote, url: str, folder: Path, name: str, lease: float) -> None:
        self._parent = parent
        self._out = folder / f"{name}.out"
        self._out.touch()
        options = ("--store", url, "--lease", str(lease), "--concurrency", str(_ROUND))
        arguments = ["worker", "tests.storm.freeze_app:app", *options]
        self.pid = parent.start({"arguments": arguments, "log": str(folder / "evidence.log"), "out": str(self._out)})

    def said(self) -> str:
        return self._out.read_text()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all of them; the worker is the first to stop and the last to go on."""
        for pid in (
            (self.pid, *descendants(self.pid)) if number == signal.SIGSTOP else (*descendants(self.pid), self.pid)
        ):
            os.kill(pid, number)

    def end(self) -> None:
        """SIGKILL, also while it is frozen."""
        everyone = [self.pid, *descendants(self.pid)]
        for pid in everyone:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(map(alive, everyone[1:])) and self.pid in self._parent.ended, what="its end")


def freeze(url: str, folder: Path, parent: Zygote, number: int, seconds: float, lease: float, report: Report) -> None:
    """One round: so many jobs at one worker, frozen for so long."""
    log, gate = folder / "evidence.log", folder / "gate"
    log.touch()
    workers = [Worker(parent, url, folder, "holder", lease)]
    try:
        with bp.connect(url, app=app) as coordinator:
            coordinator.declare(app)
            agents = ["apart"] * min(_APART, number // 2) + ["here"] * number
            tasks = [Task(number=n, gate=str(gate)) for n in range(number)]
            jobs = [coordinator.submit(agents[task.number], task, returns=Task) for task in tasks]
            _ran(log, jobs, 1)
            frozen = time.monotonic()
            _stop(workers[0], url)
            held = [job.info() for job in jobs]
            workers.append(Worker(parent, url, folder, "other", lease))
            _ran(log, jobs, 2)
            gate.touch()
            wait_until(lambda: all(job.info().state.ended for job in jobs), timeout=60, what="the other's work")
            wait_until(lambda: time.monotonic() > frozen + seconds, timeout=seconds + 1)
            holders = {workers[0].pid, *descendants(workers[0].pid)}
            before, lines = {job.id: kept(coordinator, job.id) for job in jobs}, len(log.read_text())
            workers[0].send(signal.SIGCONT)
            ids = {job.id for job in jobs}
            wait_until(lambda: set(_INSIGHT.findall(workers[0].said())) >= ids, timeout=60, what="the holder's insight")
            report.insights += len(ids)
            report.tries += number
            for line in log.read_text()[lines:].splitlines():  # the other's evidence may come later than its writes
                if int(line.split()[0]) in holders and re.search(" (finished|ended) ", line):
                    report.problems.append(f"accepted from a zombie: {line}")
            for info in held:
                _write(coordinator, info, report)
            report.problems += [f"job {id_} was changed" for id_ in ids if kept(coordinator, id_) != before[id_]]
            report.problems += _ends(coordinator, jobs)
    finally:
        for worker in workers:
            worker.end()


def _stop(worker: Worker, url: str) -> None:
    """Freeze a worker, but not in a transaction of SQLite's: until it wakes, nobody could write to the file."""
    worker.send(signal.SIGSTOP)
    deadline = time.monotonic() + 60
    while url.startswith("sqlite:") and is_locked(Path(url.removeprefix("sqlite:///")), patience=0.5):
        assert time.monotonic() < deadline, "it always holds the lock"
        worker.send(signal.SIGCONT)
        worker.send(signal.SIGSTOP)


def _ran(log: Path, jobs: list[bp.SyncJob[Task]], times: int) -> None:
    """Wait until the middle of each job has begun so often. (More often where a busy machine lets a lease run out.)"""
    wait_until(
        lambda: all(log.read_text().count(f" ran {number}:0:b ") >= times for number in range(len(jobs))),
        timeout=90,
        what=f"all jobs in their middle {times} times",
    )


def _write(coordinator: bp.SyncCoordinator, info: bp.JobInfo, report: Report) -> None:
    """Everything that the holder of the lease could write."""
    assert info.lease is not None
    for write in writes(c.Fence(info.id, info.lease.token, info.lease.id), info.thread):
        try:
            coordinator.store.call(write)
        except bp.Fenced:
            report.refused += 1
        else:
            report.problems.append(f"accepted: {write}")


def _ends(coordinator: bp.SyncCoordinator, jobs: list[bp.SyncJob[Task]]) -> Iterator[str]:
    for number, job in enumerate(jobs):
        told = [event.type for event in coordinator.events(job=job.id)].count("batonpass.job.completed")
        if told != 1 or job.result(timeout=0).number != number:
            yield f"job {job.id} ended {told} times: {job.info()}"


@contextmanager
def warm() -> Iterator[Zygote]:
    """The parent of the workers."""
    parent = Zygote(["tests.storm.freeze_app", "batonpass.cli", "batonpass.workers.process"], ROOT)
    try:
        yield parent
    finally:
        parent.close()


@contextmanager
def store(kind: str, folder: Path) -> Iterator[str]:
    """The URL of a new store."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'store.db'}"
        return
    server = RedisServer(folder)
    server.start()
    try:
        yield server.url
    finally:
        server.close()


def main() -> None:
    """Run it; what must not be is an error."""
    parser = argparse.ArgumentParser(prog="python -m tests.storm.freeze", description=main.__doc__)
    parser.add_argument("--store", choices=["sqlite", "redis"], required=True)
    parser.add_argument("--tries", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--lease", type=float, default=4)
    asked = parser.parse_args()
    report, began = Report(), time.monotonic()
    with warm() as parent:
        while report.tries < asked.tries:
            with tempfile.TemporaryDirectory(prefix="batonpass-freeze-") as name, store(asked.store, Path(name)) as url:
                number = min(_ROUND, asked.tries - report.tries)
                freeze(url, Path(name), parent, number, asked.seconds, asked.lease, report)
    sys.stdout.write(f"{asked.store}, {asked.seconds:g} s each: {report}; {time.monotonic() - began:.0f} s\n")
    sys.exit("\n".join(report.problems[:20]) or 0)


if __name__ == "__main__":
    main()
