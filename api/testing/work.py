"""Work: what a tested agent does, with evidence outside of Batonpass of what ran, and death at a chosen moment."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from batonpass.coordinator import commands as c
from batonpass.coordinator.store import Store

R = TypeVar("R")
WROTE = "(wrote)"
_WRITES = (c.Save, c.Record, c.HandOff, c.Complete, c.Suspend, c.Fail)


@dataclass
class Work:
    """Called by a tested agent as `work("step")` in each of its steps; gives the text that the step answers with.

    Each call is a line of a file that is on the disk when it returns. `killed_at` is where the process ends by SIGKILL:
    "in:<step>", "before:<n>" or "after:<n>" (its nth write), "" for nowhere.
    """

    path: Path
    killed_at: str = ""
    during: Callable[[str], None] | None = None

    def __call__(self, step: str) -> str:
        """Do a step."""
        self.note(step)
        if self.killed_at == f"in:{step}":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.during is not None:
            self.during(step)
        return f"{step} is done"

    def note(self, line: str) -> None:
        """Add a line of evidence."""
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(file, f"{line}\n".encode())
            os.fsync(file)
        finally:
            os.close(file)

    def steps(self) -> list[str]:
        """The steps that were begun."""
        return [line for line in self.lines() if line != WROTE]

    def lines(self) -> list[str]:
        """The evidence so far: the steps that were begun, and `WROTE` for each acknowledged write."""
        return self.path.read_text().splitlines() if self.path.exists() else []


class WatchedStore:
    """A store whose writes under a lease are evidence, and may be the last that this process does."""

    def __init__(self, store: Store, work: Work) -> None:
        self._store = store
        self._work = work
        self._writes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def call(self, command: c.Command[R]) -> R:
        """Carry a command out."""
        self._enter(command)
        answer = self._store.call(command)
        self._leave(command)
        return answer

    async def acall(self, command: c.Command[R]) -> R:
        """`call` for async code."""
        self._enter(command)
        answer = await self._store.acall(command)
        self._leave(command)
        return answer

    def _enter(self, command: c.Command[Any]) -> None:
        if isinstance(command, _WRITES):
            self._writes += 1
            self._die(f"before:{self._writes}")

    def _leave(self, command: c.Command[Any]) -> None:
        if isinstance(command, _WRITES):
            self._work.note(WROTE)
            self._die(f"after:{self._writes}")

    def _die(self, point: str) -> None:
        if self._work.killed_at == point:
            os.kill(os.getpid(), signal.SIGKILL)
