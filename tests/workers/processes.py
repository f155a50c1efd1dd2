"""A worker as its user starts it: `python -m batonpass worker`, a real process for real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.harness.waiting import wait_until

ROOT = Path(__file__).parents[2]
DEADLINE = 40.0


class Desk:
    """One store, the workers that serve it, and what their agents left: evidence of what ran, and gates."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.log = folder / "evidence.log"
        self.log.touch()
        self.workers: list[WorkerProcess] = []

    def start(self, *options: str, app: str = "tests.workers.agents:app") -> WorkerProcess:
        """Start a worker; does not wait for it."""
        worker = WorkerProcess(self, app, options)
        self.workers.append(worker)
        return worker

    def serving(self, agents: str, *options: str) -> WorkerProcess:
        """Start a worker for some agents and wait until it serves."""
        worker = self.start("--agents", agents, *options)
        worker.wait_for("serves")
        return worker

    def open_gate(self, name: str) -> None:
        (self.folder / name).touch()

    def lines(self) -> list[tuple[int, str]]:
        """The evidence: the process and what it did, in order."""
        parts = (line.partition(" ") for line in self.log.read_text().splitlines())
        return [(int(pid), what) for pid, _, what in parts]

    def ran(self) -> Counter[str]:
        """How often each piece of work began."""
        return Counter(what for _, what in self.lines())

    def wait_for(self, label: str) -> None:
        """Wait until a piece of work has begun."""
        wait_until(lambda: label in self.ran(), timeout=DEADLINE, what=f"{label} in {self.ran()}\n{self.said()}")

    def said(self) -> str:
        return "\n".join(worker.said() for worker in self.workers)

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()


class WorkerProcess:
    """One worker process."""

    def __init__(self, desk: Desk, app: str, options: tuple[str, ...]) -> None:
        self._out = desk.folder / f"worker-{len(desk.workers)}.err"
        gates = {"BATONPASS_TEST_GATES": str(desk.folder), "BATONPASS_TEST_LOG": str(desk.log)}
        with self._out.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "batonpass", "worker", app, "--store", desk.url, *options],
                cwd=ROOT,
                env={**os.environ, **gates},
                stdout=out,
                stderr=out,
            )
        self.pid = self._process.pid

    def said(self) -> str:
        return self._out.read_text()

    def wait_for(self, text: str) -> None:
        """Wait until it has said something."""
        wait_until(lambda: text in self.said() or self._ended(), timeout=DEADLINE, what=f"{text!r} in {self.said()!r}")
        assert text in self.said(), self.said()

    def _ended(self) -> bool:
        return self._process.poll() is not None

    def send(self, sig: signal.Signals) -> None:
        self._process.send_signal(sig)

    def exit_code(self) -> int:
        """Its exit code, once it has ended."""
        return self._process.wait(DEADLINE)

    def kill(self) -> None:
        if not self._ended():
            self._process.kill()
            self._process.wait()
