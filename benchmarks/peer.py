"""Peer: another process that is measured. It speaks in lines on its standard output."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
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

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    async def kill(self) -> None:
        """SIGKILL."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def close(self) -> None:
        """Kill it, and wait for its children: they hold its output. (A loop that ends leaves what is not read open.)"""
        await self.kill()
        assert self._process.stdout is not None
        await asyncio.wait_for(self._process.stdout.read(), _PATIENCE)


@asynccontextmanager
async def peer(*arguments: str, environment: Mapping[str, str] | None = None) -> AsyncIterator[Peer]:
    """A Python process run with these arguments (and more environment), ready, and killed at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=_ROOT,
        env={**os.environ, **(environment or {})},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    made = Peer(process)
    try:
        if (said := await made.line()) != "ready":
            raise RuntimeError(f"the measured process said {said!r}")
        yield made
    finally:
        await made.close()


def worker_of(
    url: str,
    namespace: str,
    agent: str,
    *,
    app: str = "benchmarks.agents:app",
    lease: float | None = None,
    slots: int | None = None,
) -> tuple[str, ...]:
    """The arguments of a worker process as users start it."""
    options = ["--lease", str(lease)] if lease else []
    options += ["--concurrency", str(slots)] if slots else []
    where = ["--store", url, "--namespace", namespace]
    return ("-m", "batonpass", "worker", app, "--agents", agent, *where, *options)
