"""Work: what a tested agent does, with evidence outside of Batonpass of what ran, and death at a chosen moment."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batonpass.coordinator.commands import Command

WROTE = "(wrote)"


@dataclass
class Work:
    """Called by a tested agent as `work("step")` in each of its steps. Returns the text that the step answers with.

    Each call adds a line to a file, which is on the disk when the call returns. `killed_at` is where the process ends
    by SIGKILL: "in:<step>", "before:<n>" or "after:<n>" (its nth write), "" for nowhere.
    """

    path: Path
    killed_at: str = ""
    during: Callable[[str], None] | None = None
    writes: int = 0

    def __call__(self, step: str) -> str:
        """Do a step."""
        self.note(step)
        self._die(f"in:{step}")
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

    def writing(self, command: Command[Any]) -> None:
        """A write is about to be sent."""
        self.writes += 1
        self._die(f"before:{self.writes}")

    def wrote(self, command: Command[Any]) -> None:
        """A write was acknowledged."""
        self.note(WROTE)
        self._die(f"after:{self.writes}")

    def steps(self) -> list[str]:
        """The steps that were begun."""
        return [line for line in self.lines() if line != WROTE]

    def lines(self) -> list[str]:
        """The evidence so far: the steps that were begun, and `WROTE` for each acknowledged write."""
        return self.path.read_text().splitlines() if self.path.exists() else []

    def _die(self, point: str) -> None:
        if self.killed_at == point:
            os.kill(os.getpid(), signal.SIGKILL)
