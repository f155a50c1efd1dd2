"""A worker as its user starts it: `batonpass worker`, a real process for real signals, forked off a warm parent."""

from __future__ import annotations

import atexit
import os
import signal
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from tests.harness.waiting import wait_until
from tests.house.tree import ROOT
from tests.kills.harness import Zygote

DEADLINE = 90.0


class Desk:
    """One store, the workers that serve it, and what their agents left: evidence of what ran, and gates."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.log = folder / "evidence.log"
        self.log.touch()
        self.workers: list[WorkerProcess] = []

    def start(
        self, *options: str, app: str = "tests.workers.agents:app", ignore: Sequence[str] = (), kill: str = ""
    ) -> WorkerProcess:
        """Start a worker; does not wait for it. The signals named are ignored when it begins. `kill` is the write of a
        delivery that it dies at: before:n or after:n."""
        worker = WorkerProcess(self, app, options, ignore, kill)
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


@cache
def parent(*modules: str) -> Zygote:
    """The parent of a session's workers, or of what else needs these modules: to start Python and import everything
    takes longer than most tests."""
    made = Zygote(["batonpass.cli", "batonpass.workers.process", *modules], ROOT)
    atexit.register(made.close)
    return made


def start(zygote: Zygote, *arguments: str, out: Path, **environment: str) -> int:
    """Fork `batonpass` with arguments, in this folder and environment; its pid. What it prints goes to a file."""
    command = {"arguments": arguments, "out": str(out), "log": os.devnull, "folder": os.getcwd()}
    return zygote.start({**command, "environment": {**os.environ, **environment}})


def ran(*arguments: str, out: Path) -> int:
    """Fork `batonpass` and wait until it has ended; its exit code."""
    pid = start(parent(), *arguments, out=out)
    wait_until(lambda: pid in parent().ended, timeout=DEADLINE, what=f"the end of batonpass {arguments}")
    return parent().ended[pid]


class WorkerProcess:
    """One worker process."""

    def __init__(self, desk: Desk, app: str, options: tuple[str, ...], ignore: Sequence[str], kill: str) -> None:
        self._out = desk.folder / f"worker-{len(desk.workers)}.err"
        arguments = ["worker", app, "--store", desk.url, *options]
        command = {"arguments": arguments, "out": str(self._out), "ignore": list(ignore)}
        if kill:
            command["kill"] = kill
        gates = {"BATONPASS_TEST_GATES": str(desk.folder)}
        self.pid = parent().start({**command, "log": str(desk.log), "environment": gates})

    def said(self) -> str:
        return self._out.read_text() if self._out.exists() else ""

    def wait_for(self, text: str) -> None:
        """Wait until it has said something."""
        wait_until(lambda: text in self.said() or self._ended(), timeout=DEADLINE, what=f"{text!r} in {self.said()!r}")
        assert text in self.said(), self.said()

    def _ended(self) -> bool:
        return self.pid in parent().ended

    def send(self, sig: signal.Signals) -> None:
        if not self._ended():
            with suppress(ProcessLookupError):  # it has ended, which is about to be reported
                os.kill(self.pid, sig)

    def exit_code(self) -> int:
        """Its exit code, once it has ended."""
        wait_until(self._ended, timeout=DEADLINE, what=f"the end of {self.pid}: {self.said()}")
        return parent().ended[self.pid]

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.exit_code()
