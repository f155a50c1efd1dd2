"""Victims: the processes of the kill storm, and what they have left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Protocol

from tests.harness.waiting import wait_until
from tests.kills.harness import Zygote
from tests.rules.test_acknowledged import ROOT, acknowledged

LEASE = 1.0
_BUSY = 5  # notes that a process must have left before it is killed, because killing an idle one proves nothing


class Victim(Protocol):
    """A process under load."""

    def at_work(self) -> bool: ...

    def kill(self) -> None:
        """SIGKILL; fails if it had ended by itself."""
        ...

    def end(self) -> None:
        """Leave nothing behind, whatever state it is in."""
        ...


class Writer:
    """Submits, saves, hands off and completes, and notes in a log of its own what was acknowledged."""

    def __init__(self, url: str, log: Path) -> None:
        self.log = log
        self._complaints = log.with_suffix(".err").open("wb")
        command = [sys.executable, "-m", "tests.rules.writer", url, str(log), log.stem]
        self._process = subprocess.Popen(command, cwd=ROOT, stderr=self._complaints)

    def at_work(self) -> bool:
        assert self._process.poll() is None, self.log.with_suffix(".err").read_text()
        return len(acknowledged(self.log)) >= _BUSY

    def kill(self) -> None:
        alive = self._process.poll() is None
        self.end()
        assert alive, self.log.with_suffix(".err").read_text()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._complaints.close()


class Evidence:
    """What agents did, read from their common log as it grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()
        self._offset = 0
        self.notes: Counter[int] = Counter()
        self.ran: Counter[str] = Counter()
        self.finished: set[str] = set()
        self.repeated: list[str] = []

    def read(self) -> None:
        """Look at what is new. A piece of work that begins after it has finished is `repeated`."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.decode().splitlines():
            pid, what, label = line.split(" ", 2)
            if what == "ran":
                self.ran[label] += 1
                if label in self.finished:
                    self.repeated.append(label)
            elif what == "finished":
                self.finished.add(label)
            self.notes[int(pid)] += 1


class WorkerProcess:
    """A worker for the app of the storm, forked off a warm parent."""

    def __init__(self, url: str, evidence: Evidence, zygote: Zygote, out: Path) -> None:
        self._zygote = zygote
        self._evidence = evidence
        self._out = out
        command = {"url": url, "app": "tests.storm.app", "agents": None, "lease": LEASE, "kill": ""}
        self._pid = zygote.start({**command, "log": str(evidence.path), "out": str(out)})

    def at_work(self) -> bool:
        assert self._pid not in self._zygote.ended, self._out.read_text()
        self._evidence.read()
        return self._evidence.notes[self._pid] >= _BUSY

    def kill(self) -> None:
        self.end()
        assert self._zygote.ended[self._pid] == -signal.SIGKILL, self._out.read_text()

    def end(self) -> None:
        if self._pid not in self._zygote.ended:
            os.kill(self._pid, signal.SIGKILL)
        wait_until(lambda: self._pid in self._zygote.ended, what=f"the end of worker {self._pid}")
