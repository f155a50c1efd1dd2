"""Peer: another process that is measured. It speaks in lines on its standard output."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_PATIENCE = 60.0  # seconds without a line after which something must be wrong


class Peer:
    """A running process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def line(self) -> str:
        """The next line."""
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), _PATIENCE)
        if not line:
            raise RuntimeError(f"the measured process ended with {await self._process.wait()}")
        return line.decode().strip()

    async def kill(self) -> None:
        """SIGKILL."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


@asynccontextmanager
async def peer(*arguments: str) -> AsyncIterator[Peer]:
    """A Python process run with these arguments, ready, and killed at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=_ROOT,
        env=os.environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    made = Peer(process)
    try:
        if (said := await made.line()) != "ready":
            raise RuntimeError(f"the measured process said {said!r}")
        yield made
    finally:
        await made.kill()


def worker_of(url: str, namespace: str, agent: str, *, lease: float | None = None) -> tuple[str, ...]:
    """The arguments of a worker process as users start it."""
    options = ["--lease", str(lease)] if lease else []
    where = ["--store", url, "--namespace", namespace]
    return ("-m", "batonpass", "worker", "benchmarks.agents:app", "--agents", agent, *where, *options)
