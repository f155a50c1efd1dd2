"""The workers of a chaos run, of two versions, and how they die."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.harness.waiting import wait_until
from tests.kills.harness import Zygote

CONCURRENCY = 8
_DELIVERY = " hop "  # what a worker says of each delivery
_NO_STORE, _NONE_THERE = (
    2,
    "no Redis at ",
)  # the exit code of a worker that finds no store when it starts, and its words


@dataclass
class Counts:
    """What was done to the workers."""

    workers: int = 0
    children: int = 0
    started_without_store: int = 0

    @property
    def kills(self) -> int:
        return self.workers + self.children


class Crew:
    """This many worker processes. One that dies is replaced at once, by one of a version chosen at random."""

    def __init__(self, url: str, folder: Path, parents: list[Zygote], choose: random.Random, lease: float) -> None:
        options = ("--store", url, "--lease", str(lease), "--concurrency", str(CONCURRENCY))
        self._arguments = ["worker", "tests.storm.chaos_app:app", *options]
        self._folder = folder
        self._parents = parents
        self._choose = choose
        self._started = 0
        self._members: dict[int, Zygote] = {}
        self._outs: dict[int, Path] = {}
        self._killed: set[int] = set()
        self._at_work: set[int] = set()
        self._worked: set[int] = set()  # which of the parents' workers have
        self.log = folder / "evidence.log"
        self.log.touch()
        self.counts = Counts()

    def start(self, number: int) -> None:
        """Start workers."""
        for _ in range(number):
            parent = self._parents[self._started % len(self._parents)]
            self._started += 1
            out = self._folder / f"worker-{self._started}.out"
            out.touch()
            pid = parent.start({"arguments": self._arguments, "log": str(self.log), "out": str(out)})
            self._members[pid], self._outs[pid] = parent, out

    def strike(self) -> None:
        """SIGKILL a worker that is working, or one of its processes. To kill one that is only starting would prove
        nothing."""
        working = self.at_work()
        everyone = [*working, *(one for pid in working for one in descendants(pid))]
        if not everyone:
            return
        pid = self._choose.choice(everyone)
        if pid in self._members:
            self.kill(pid)
            self.counts.workers += 1
        else:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.counts.children += 1
        self.look_after()

    def at_work(self) -> list[int]:
        """The workers that have begun some job."""
        starting = self._members.keys() - self._at_work
        begun = {pid for pid in starting if _DELIVERY in self._outs[pid].read_text()}
        self._worked |= {self._parents.index(self._members[pid]) for pid in begun}
        self._at_work |= begun
        return sorted(self._at_work & self._members.keys())

    @property
    def versions_at_work(self) -> int:
        """Of how many versions a worker has begun some job."""
        return len(self._worked)

    def kill(self, pid: int) -> None:
        """SIGKILL one worker."""
        self._killed.add(pid)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def look_after(self) -> None:
        """Replace those that are gone. It is an error if a worker has ended by itself, unless it found no store."""
        for pid, parent in list(self._members.items()):
            status = parent.ended.get(pid)
            if pid not in self._killed:
                if status is None:
                    continue
                said = self._outs[pid].read_text()
                found_none = status == _NO_STORE and _NONE_THERE in said
                assert found_none, f"a worker ended with {status}: {said[-3000:]}"
                self.counts.started_without_store += 1
            del self._members[pid]
            self._killed.discard(pid)  # numbers of processes are used again
            self._at_work.discard(pid)
            self.start(1)

    def end(self) -> None:
        """End all of them, and wait until nothing that they started is left."""
        everyone = {below for pid in self._members for below in descendants(pid)}
        for pid in self._members:
            self.kill(pid)
        wait_until(
            lambda: all(pid in parent.ended for pid, parent in self._members.items()),
            timeout=60,
            what="the end of the workers",
        )
        wait_until(
            lambda: not any(map(alive, everyone)), timeout=60, what=f"the end of what workers started: {everyone}"
        )

    def said(self) -> str:
        """The last words of the latest workers."""
        return "\n".join(out.read_text()[-1000:] for out in list(self._outs.values())[-4:])


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and those that they started."""
    lines = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], check=True, capture_output=True, text=True).stdout
    parents = {int(child): int(parent) for child, parent in (line.split() for line in lines.splitlines())}
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {pid})


def alive(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    asked = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return bool(asked) and not asked.startswith("Z")
