"""What a kill test does: run a job, kill its worker at one point, have another finish it, and count what ran."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import batonpass as bp
from batonpass.examples.incident_desk.pausing import is_locked
from tests.apps.evidence import gate

LEASE = 1.0
DEADLINE = 90.0


def wait_for(condition: Callable[[], Any], what: str, deadline: float = DEADLINE) -> Any:
    """The condition's first true value; fails the test when the deadline passes."""
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError(f"waited {deadline} s for {what}")


class Zygote:
    """The warm parent of all workers of a test session. `code` is where Batonpass is imported from, if not as usual."""

    def __init__(self, modules: list[str], root: Path, code: Path | None = None) -> None:
        quiet = {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"}
        paths = [*([str(code)] if code else []), str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
        more = {"CREWAI_DISABLE_VERSION_CHECK": "true", "LANGSMITH_TRACING": "false", "PYTHONPATH": ":".join(paths)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.kills.zygote", *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=root,
            env={**os.environ, **quiet, **more},
        )
        self._lock = threading.Lock()
        self._started: list[int] = []
        self.ended: dict[int, int] = {}
        self._ready = threading.Event()
        self._up = False
        threading.Thread(target=self._read, daemon=True).start()
        self._ready.wait(120)
        if not self._up:
            self.process.kill()
            self.close()
            raise AssertionError(f"the zygote of {' '.join(modules)} did not start")

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            message = json.loads(line)
            if "ready" in message:
                self._up = True
                self._ready.set()
            elif "started" in message:
                self.ended.pop(message["started"], None)  # of one that had the same number
                self._started.append(message["started"])
            else:
                self.ended[message["ended"]] = message["status"]
        self._ready.set()  # it has ended: nobody need wait

    def start(self, command: dict[str, Any]) -> int:
        """Fork a worker; its pid."""
        assert self.process.stdin
        with self._lock:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()
            wait_for(lambda: self._started, "a forked worker")
            return self._started.pop()

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(timeout=10)
        assert self.process.stdout
        self.process.stdout.close()


@dataclass
class Log:
    """The evidence of one run: lines `pid text`."""

    path: Path
    lines: list[tuple[int, str]] = field(default_factory=list)

    def read(self) -> Log:
        text = self.path.read_text() if self.path.exists() else ""
        self.lines = [(int(pid), what) for pid, _, what in (line.partition(" ") for line in text.splitlines())]
        return self

    def of(self, pid: int) -> list[str]:
        return [what for who, what in self.lines if who == pid]

    def labels(self) -> Counter[str]:
        return Counter(what for _, what in self.lines if not what.startswith(("ack ", "refused ", "paused")))


class Run:
    """One job at one agent of a test app, on a store of its own."""

    def __init__(self, zygote: Zygote, url: str, folder: Path, module: ModuleType, agent: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.zygote, self.url, self.folder, self.module, self.agent = zygote, url, folder, module, agent
        self.log = Log(folder / "evidence.log")
        self.pids: list[int] = []

    def start_worker(self, kill: str = "") -> int:
        name = self.module.__name__
        out = str(self.folder / f"worker-{len(self.pids)}.out")
        command = {"url": self.url, "app": name, "agents": None, "lease": LEASE, "log": str(self.log.path)}
        pid = self.zygote.start({**command, "out": out, "kill": kill})
        self.pids.append(pid)
        return pid

    def freeze(self, pid: int) -> None:
        """Stop a worker that is paused, but not in the middle of a transaction: SQLite's lock would stay with it, and
        nobody could take over its job."""
        os.kill(pid, signal.SIGSTOP)
        while _is_locked(self.url):
            os.kill(pid, signal.SIGCONT)
            wait_for(lambda: not _is_locked(self.url), "the end of its transaction")
            os.kill(pid, signal.SIGSTOP)

    def wake(self, pid: int) -> None:
        """Let it go on."""
        gate(str(self.log.path)).touch()
        os.kill(pid, signal.SIGCONT)

    def end_worker(self, pid: int, sig: signal.Signals = signal.SIGKILL) -> int:
        if pid not in self.zygote.ended:
            with suppress(ProcessLookupError):  # it has ended, and that is about to be told
                os.kill(pid, sig)
        return int(wait_for(lambda: pid in self.zygote.ended and [self.zygote.ended[pid]], f"the end of {pid}")[0])

    def output(self) -> str:
        return "\n".join(path.read_text()[-3000:] for path in sorted(self.folder.glob("worker-*.out")))

    def submit(self, coordinator: bp.SyncCoordinator) -> bp.SyncJob[Any]:
        """Submit as soon as a worker has declared the agents."""

        def attempt() -> bp.SyncJob[Any] | None:
            try:
                return coordinator.submit(self.agent, self.module.INPUT[self.agent])
            except bp.UnknownAgent:
                return None

        job: bp.SyncJob[Any] = wait_for(attempt, "the agents' declaration")
        return job

    def finish(self, job: bp.SyncJob[Any], until: Callable[[], bool] = lambda: False) -> bp.JobInfo:
        """Answer what the job asks until it has ended, or `until` holds."""
        answers = getattr(self.module, "ANSWERS", {}).get(self.agent, [])
        answers = answers if isinstance(answers, list) else [answers]
        given: list[str] = []

        def ended() -> bp.JobInfo | None:
            info = job.info()
            if info.state == bp.JobState.INPUT_REQUIRED and info.checkpoint_id not in given:
                given.append(str(info.checkpoint_id))
                job.answer(self._next_answer(job, answers))
            return info if info.state.ended or until() else None

        try:
            return wait_for(ended, "the end of the job")  # type: ignore[no-any-return]
        except AssertionError as error:
            raise AssertionError(f"{error}; locked: {_is_locked(self.url)}\n{job.info()}\n{self.output()}") from None

    def _next_answer(self, job: bp.SyncJob[Any], answers: list[Any]) -> Any:
        asked = sum(event.type.endswith("suspended") for event in self._events(job))
        return answers[min(asked, len(answers)) - 1]

    def _events(self, job: bp.SyncJob[Any]) -> list[bp.Event]:
        with bp.connect(self.url, app=bp.App("reader")) as coordinator:
            return list(coordinator.events(job=job.id))


def _is_locked(url: str) -> bool:
    """Whether a file's write lock stays with somebody."""
    path = Path(url.removeprefix("sqlite:///"))
    return url.startswith("sqlite:///") and is_locked(path, patience=1)


def repeated_too_often(run: Run, baseline: Counter[str]) -> list[str]:
    """The labels that ran more often than a kill of the first worker can explain."""
    first = run.log.read().of(run.pids[0])
    again = run.log.labels() - baseline
    wrong: list[str] = []
    groups: list[set[str]] = getattr(run.module, "PARALLEL", {}).get(run.agent, [])
    writes: int = getattr(run.module, "WRITES_OF_A_UNIT", 1)
    units = getattr(run.module, "UNITS", {}).get(run.agent) or [[label] for label in baseline]
    for group in groups:
        labels = [label for label in again if label in group]
        if sum(again[label] for label in labels) > max(
            0, len(group & set(first)) - _acks_after_first(first, group) // writes
        ):
            wrong += labels
    for label in again:
        if any(label in group for group in groups):
            continue
        unit = next((unit for unit in units if label in unit), [label])
        if again[label] > 1 or (set(unit) <= set(first) and _acks_after_last(first, set(unit))):
            wrong.append(label)
    return wrong


def _acks_after_first(lines: list[str], labels: set[str]) -> int:
    start = min((i for i, line in enumerate(lines) if line in labels), default=len(lines))
    return sum(line.startswith("ack ") for line in lines[start:])


def _acks_after_last(lines: list[str], labels: set[str]) -> int:
    start = max((i for i, line in enumerate(lines) if line in labels), default=len(lines))
    return sum(line.startswith("ack ") for line in lines[start:])
