"""The demo's worker processes: started, killed, paused, woken and always cleaned up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from signal import SIGINT, SIGTERM

from batonpass.workers.children.parent import signal_when_gone

from .pausing import pause

STAGES = {"triage": "LangGraph", "write": "CrewAI", "review": "AutoGen"}
APP = "batonpass.examples.incident_desk.app:app"
# LangGraph does not call home, unless the user's environment says otherwise. (CrewAI's adapter sees to CrewAI.)
QUIET = {"LANGSMITH_TRACING": "false"}
_PATIENCE = 5.0  # seconds that a worker may take to end


class Hand:
    """One worker process. What it logs goes to the file `log`."""

    def __init__(self, stage: str, name: str, folder: Path, options: Sequence[str], env: Mapping[str, str]) -> None:
        self.stage = stage
        self.log = folder / f"worker-{name}.log"
        self.gone = False  # by the demo's own act
        # A CrewAI process keeps files of its own in the user's data folder: give each its own.
        data = folder / f"data-{name}"
        data.mkdir()
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "batonpass", "worker", APP, "--agents", stage, *options],
                env={**QUIET, **os.environ, "XDG_DATA_HOME": str(data), **env},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches the demo alone, which ends its workers itself
                preexec_fn=partial(_end_with, os.getpid()),  # a demo that is killed can't
            )
        self.pid = self._process.pid

    def lines(self) -> list[str]:
        """What it has logged so far."""
        return self.log.read_text(errors="replace").splitlines()

    def ready(self) -> bool:
        """Whether it has imported its framework and waits for work."""
        return any(" serves " in line for line in self.lines())

    def died(self) -> bool:
        """Whether it ended by itself."""
        return not self.gone and self._process.poll() is not None

    def kill(self) -> None:
        """SIGKILL."""
        self.gone = True
        self._process.kill()
        self._process.wait()

    def pause(self, url: str) -> None:
        """SIGSTOP: the process stands still in whatever it does, except while it writes to the store."""
        pause(self.pid, url)

    def wake(self) -> None:
        """SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    def ask_to_end(self) -> None:
        """SIGTERM, also to a paused one."""
        self.gone = True
        if self._process.poll() is None:
            self._process.terminate()
            self.wake()

    def see_end(self) -> None:
        """Wait for its end, and make it end if it does not."""
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()


def _end_with(demo: int) -> None:
    """In the new process: be killed when the demo ends, also if it has ended already and no signal will come."""
    signal_when_gone(signal.SIGKILL)
    if sys.platform == "linux" and os.getppid() != demo:
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def _undisturbed() -> Generator[None]:
    """Let Ctrl-C wait: a process that it interrupts the start of would be left running, and nobody knows it."""
    told: list[int] = []
    before = {each: signal.signal(each, lambda number, _: told.append(number)) for each in (SIGINT, SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    if told:
        raise KeyboardInterrupt


class Staff:
    """All workers of a demo. As a context manager it leaves no process behind."""

    def __init__(self, folder: Path, options: Sequence[str], env: Mapping[str, str]) -> None:
        self._folder = folder
        self._options = options
        self._env = env
        self.hands: list[Hand] = []

    def __enter__(self) -> Staff:
        return self

    def __exit__(self, *_: object) -> None:
        for hand in self.hands:
            hand.ask_to_end()
        for hand in self.hands:
            hand.see_end()

    def hire(self, stage: str, *, hold: str = "") -> Hand:
        """Start a worker for a stage; with `hold` it waits in the middle of that unit of work."""
        count = sum(hand.stage == stage for hand in self.hands) + 1
        env = {**self._env, "BATONPASS_DEMO_HOLD": hold}
        with _undisturbed():
            hand = Hand(stage, f"{stage}-{count}", self._folder, self._options, env)
            self.hands.append(hand)
        return hand

    def of(self, pid: int) -> Hand | None:
        """The worker with that process id."""
        return next((hand for hand in self.hands if hand.pid == pid), None)
