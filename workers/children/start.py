"""Start: starts a worker's processes, and notices when they end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from socket import socket, socketpair

import anyio

from ...coordinator.rows import Delivery
from .channel import Channel
from .frames import Frame, pack_delivery

# Seconds between the end of a process's socket and its exit status, at most.
STATUS = 0.2
# The status of a process that somebody else has collected. asyncio's is the same.
_UNKNOWN = 255


class Died(Exception):
    """A child ended in the middle of a delivery. Says how."""


class ChildProcess:
    """A worker's view of one child."""

    def __init__(self, gone: Callable[[ChildProcess], None]) -> None:
        self.pid = 0
        self.jobs = 0
        self.ended = anyio.Event()
        self.gone = False
        self._status: int | None = None
        self._on_gone = gone
        self._channel = Channel(self._hear, self._lose)
        self._said: asyncio.Future[Frame | None] = asyncio.get_running_loop().create_future()
        self._ends: Callable[[str, str], None] | None = None

    async def connect(self, sock: socket) -> None:
        """Use a socket whose other end the child has."""
        await self._channel.open(sock)

    async def answer(self) -> Frame:
        """Its next message. `Died` if none will come."""
        if (message := await self._said) is None:
            with anyio.move_on_after(STATUS):
                await self.ended.wait()
            raise Died(f"process {self.pid} {how(self._status)}")
        return message

    async def run(self, delivery: Delivery, ends: Callable[[str, str], None]) -> Frame:
        """Let it run a delivery, and return its report. `Died` if it ends in the middle.

        `ends` is called when it begins to write the end, with what it leaves alone from then on ("queue", "job" or ""),
        and the checkpoint to which the job has come.
        """
        self._ends = ends
        if not self.gone:
            self._said = asyncio.get_running_loop().create_future()
            self.jobs += 1
            self._channel.send({"run": pack_delivery(delivery)})
        message = await self.answer()
        if "done" not in message:
            raise Died(f"process {self.pid} gave up: {message.get('failed')}")
        return message

    def send(self, message: Frame) -> None:
        """Send it a message that it doesn't answer."""
        self._channel.send(message)

    def kill(self) -> None:
        """Kill it. A child that never started has no pid: a signal to 0 would end this worker and its whole group."""
        if self.pid and not self.ended.is_set():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self._channel.close()

    def has_ended(self, status: int) -> None:
        """Its parent reports that it has ended. The socket doesn't tell if a process that it started still holds it."""
        self._status = status
        self.ended.set()
        self._lose()

    def _hear(self, message: Frame) -> None:
        if "ends" in message and self._ends is not None:
            self._ends(message["aside"], message["tip"])
        elif not self._said.done():
            self._said.set_result(message)

    def _lose(self) -> None:
        if self.gone:
            return
        self.gone = True
        if not self._said.done():
            self._said.set_result(None)
        self._on_gone(self)


def how(status: int | None) -> str:
    """How a process ended, in words."""
    if status is None:
        return "died"
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


class _Exit(asyncio.SubprocessProtocol):
    def __init__(self, exited: Callable[[int], None]) -> None:
        self._exited = exited
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def process_exited(self) -> None:
        assert self._transport is not None
        status = self._transport.get_returncode()
        self._transport.close()
        self._exited(status if status is not None else 0)


async def start_python(module: str, exited: Callable[[int], None]) -> tuple[int, socket]:
    """Start one of our modules in a new interpreter. Returns its pid and a socket to it.

    It has its own process group, because Ctrl-C is for the worker, which then tells its processes what to do.
    """
    ours, theirs = socketpair()
    try:
        with theirs:
            transport, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Exit(exited),
                *(sys.executable, "-m", module, str(theirs.fileno())),
                stdin=subprocess.DEVNULL,
                stdout=None,
                stderr=None,
                pass_fds=(theirs.fileno(),),
                process_group=0,
            )
    except BaseException:
        ours.close()
        raise
    return transport.get_pid(), ours


def hear_end(pid: int, exited: Callable[[int], None]) -> None:
    """Call this with the status of a process that this one has forked, once it has ended."""
    loop, file = asyncio.get_running_loop(), os.pidfd_open(pid)

    def ended() -> None:
        loop.remove_reader(file)
        os.close(file)
        try:
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except ChildProcessError:  # the app collects all processes that end
            status = _UNKNOWN
        exited(status)

    loop.add_reader(file, ended)
