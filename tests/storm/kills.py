"""A storm of kills: writers and workers under load die by SIGKILL at random moments, again and again.

    python -m tests.storm.kills --store sqlite --kills 200 [--seed 1]

Afterwards every write that was acknowledged is there, every job has ended, and no finished step has run again. What was
acknowledged, and what ran, is told by logs that the processes sync themselves, not by the store.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import batonpass as bp
from batonpass.coordinator.urls import open_store
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until
from tests.kills.harness import Zygote
from tests.rules.test_acknowledged import ROOT, acknowledged, check
from tests.sqlite.beside import sound
from tests.storm.app import Task, app
from tests.storm.victims import Evidence, Victim, WorkerProcess, Writer

WRITERS = WORKERS = 2
_WAITING_JOBS = 20
_WRITES = 10  # for each kill, however slow the disk is


@dataclass
class Report:
    """What a storm consisted of."""

    kills: int
    acknowledged: int
    jobs: int
    poisoned: int
    steps: int
    cut_off: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.kills} kills: {self.acknowledged} acknowledged writes, none lost; {self.jobs} jobs, all ended "
            f"({self.poisoned} given up after too many dead workers); {self.steps} steps finished, none repeated "
            f"({self.cut_off} cut off in the middle and run again); {self.seconds:.0f} s"
        )


class Storm:
    """One store, its victims, and the jobs that they work on."""

    def __init__(self, url: str, folder: Path, zygote: Zygote, seed: int) -> None:
        self._urls = {kind: f"{url}{'&' if '?' in url else '?'}namespace=storm-{seed}-{kind}" for kind in ("w", "j")}
        self._folder = folder
        self._zygote = zygote
        self._choose = random.Random(seed)
        self.evidence = Evidence(folder / "evidence.log")
        self.logs: list[Path] = []
        self.jobs: list[bp.SyncJob[Any]] = []
        self._started = 0

    def run(self, kills: int) -> Report:
        """The whole of it."""
        began = time.monotonic()
        with bp.connect(self._urls["j"], app=app) as coordinator:
            coordinator.declare(app)
            victims: list[Victim] = []
            try:
                self._kill(coordinator, victims, kills)
                poisoned = self._see_jobs_end()
            finally:
                for victim in victims:
                    victim.end()
        self._check()
        steps = self.evidence.finished
        cut_off = sum(count - 1 for count in self.evidence.ran.values())
        return Report(kills, self._noted(), len(self.jobs), poisoned, len(steps), cut_off, time.monotonic() - began)

    def _kill(self, coordinator: bp.SyncCoordinator, victims: list[Victim], kills: int) -> None:
        makers = [self._writer] * WRITERS + [self._worker] * WORKERS
        victims += [make() for make in makers]
        for _ in range(kills):
            place = self._choose.randrange(len(victims))
            self._see(coordinator, victims[place].at_work)
            self._see(coordinator, partial(_past, time.monotonic() + self._choose.uniform(0, 0.1)))
            victims[place].kill()
            victims[place] = makers[place]()
        self._see(coordinator, lambda: len(self.jobs) > _WAITING_JOBS and self._noted() >= _WRITES * kills)

    def _noted(self) -> int:
        return sum(len(acknowledged(log)) for log in self.logs)

    def _see(self, coordinator: bp.SyncCoordinator, condition: Callable[[], bool]) -> None:
        """Wait for a condition, with the workers kept busy."""

        def look() -> bool:
            self.evidence.read()
            ended = sum(label.endswith(":end:1") for label in self.evidence.finished)
            while len(self.jobs) < ended + _WAITING_JOBS:
                self.jobs.append(coordinator.submit("begin", Task(number=len(self.jobs)), returns=Task))
            return condition()

        try:
            wait_until(look, timeout=60)
        except AssertionError:
            unended = [info for job in self.jobs if not (info := job.info()).state.ended]
            raise AssertionError(f"who is to be killed does nothing; these jobs have not ended: {unended}") from None

    def _writer(self) -> Victim:
        self._started += 1
        self.logs.append(self._folder / f"w{self._started}.log")
        return Writer(self._urls["w"], self.logs[-1])

    def _worker(self) -> Victim:
        self._started += 1
        return WorkerProcess(self._urls["j"], self.evidence, self._zygote, self._folder / f"{self._started}.out")

    def _see_jobs_end(self) -> int:
        """How many jobs were parked, because too many workers had died while they ran them."""
        poisoned = 0
        for number, job in enumerate(self.jobs):
            wait_until(partial(_ended, job), timeout=60, what=f"{job.id} did not end")
            info = job.info()
            if info.state == bp.JobState.FAILED:
                assert info.reason == "poison", info
                poisoned += 1
            else:
                assert job.result(timeout=0) == Task(number=number), info
        return poisoned

    def _check(self) -> None:
        self.evidence.read()
        assert not self.evidence.repeated, f"finished steps ran again: {self.evidence.repeated}"
        noted = self._folder / "all.log"  # in one: the check looks at the whole store each time
        noted.write_text("".join(map(_whole_lines, self.logs)))
        store = open_store(self._urls["w"])
        store.open()
        check(store, noted)
        store.close()


def _whole_lines(log: Path) -> str:
    text = log.read_text() if log.exists() else ""
    return text[: text.rfind("\n") + 1]


def _past(moment: float) -> bool:
    return time.monotonic() > moment


def _ended(job: bp.SyncJob[Any]) -> bool:
    return job.info().state.ended


@contextmanager
def warm() -> Iterator[Zygote]:
    """The parent of workers."""
    zygote = Zygote(["tests.storm.app"], ROOT)
    try:
        yield zygote
    finally:
        zygote.close()


def on_sqlite(folder: Path, zygote: Zygote, kills: int, seed: int) -> Report:
    """On a new file, which is whole afterwards."""
    file = folder / "store.db"
    report = Storm(f"sqlite:///{file}", folder, zygote, seed).run(kills)
    assert sound(file)
    return report


def on_redis(folder: Path, zygote: Zygote, kills: int, seed: int) -> Report:
    """On a server of its own."""
    server = RedisServer(folder, "--appendfsync", "always")
    server.start()
    try:
        return Storm(server.url, folder, zygote, seed).run(kills)
    finally:
        server.close()


def main() -> None:
    """Run a storm; what was lost is an error."""
    parser = argparse.ArgumentParser(prog="python -m tests.storm.kills", description=main.__doc__)
    parser.add_argument("--store", choices=["sqlite", "redis"], required=True)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="batonpass-storm-") as name, warm() as zygote:
        run = on_sqlite if asked.store == "sqlite" else on_redis
        report = run(Path(name), zygote, asked.kills, asked.seed)
    sys.stdout.write(f"{asked.store}, seed {asked.seed}: {report}\n")


if __name__ == "__main__":
    main()
