"""ChildFactory: makes children, forked from a zygote, or spawned where forking is not safe."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from socket import send_fds, socket, socketpair

import anyio

from ...contracts.errors import BadSetup
from .channel import Channel
from .frames import Frame
from .seed import Seed
from .setup import Setup
from .start import STATUS, ChildProcess, Died, hear_end, how, start_python

_log = logging.getLogger("batonpass.worker")
# Seconds that a process may take to import its app and frameworks, and to open its store.
_PATIENCE = 120.0
# ... and a zygote to fork. It does nothing else, so it takes some ms.
_FORKING = 3.0


class _Gone(Exception):
    """The zygote has died, or hangs."""


class ChildFactory:
    """Makes children. If `forks` is False they are spawned, which takes as long as their imports. `changed` is called
    when the zygote has died. The next `open` starts another one. The `seed` is the first, if there is one."""

    def __init__(self, setup: Setup, changed: Callable[[], None], seed: Seed | None) -> None:
        self._setup = setup
        self._changed = changed
        self._seed = seed
        self._lock = anyio.Lock()
        self._zygote: _Zygote | None = None
        self.forks = sys.platform == "linux"  # elsewhere frameworks' libraries break after a fork

    @property
    def is_open(self) -> bool:
        """Whether a child can be made without waiting for the zygote's imports."""
        return not self.forks or (self._zygote is not None and not self._zygote.gone)

    async def open(self) -> None:
        """Start the zygote if children are forked. `BadSetup` if that fails."""
        async with self._lock:
            if self.is_open:
                return
            seed, self._seed = self._seed, None
            zygote = _Zygote(self._changed)
            try:
                self.forks = await zygote.open(self._setup, seed)
            except OSError as error:
                raise BadSetup(f"the process that imports {self._setup.app!r} did not start: {_why(error)}") from error
            if self.forks:
                self._zygote = zygote
            else:
                await zygote.close()
                _log.info("children are spawned, not forked: importing the app or its frameworks starts threads")

    async def make(self, gone: Callable[[ChildProcess], None]) -> ChildProcess:
        """A new child that is ready. `BadSetup` if it doesn't become ready."""
        for _ in range(2):
            with suppress(_Gone):
                return await self._make(gone)
        raise BadSetup("the process that forks children has died twice")

    async def _make(self, gone: Callable[[ChildProcess], None]) -> ChildProcess:
        await self.open()
        child = ChildProcess(gone)
        try:
            with anyio.fail_after(_PATIENCE):
                if self._zygote is not None:
                    await self._zygote.fork(child)
                else:
                    await self._spawn(child)
                message = await child.answer()
        except (Died, OSError) as error:  # also if there are no more files or processes
            child.kill()
            raise BadSetup(f"a child for app {self._setup.app!r} did not start: {_why(error)}") from error
        except BaseException:
            child.kill()
            raise
        if "ready" not in message:
            child.kill()
            raise BadSetup(f"a child for app {self._setup.app!r} did not start: {message.get('failed')}")
        return child

    async def _spawn(self, child: ChildProcess) -> None:
        child.pid, sock = await start_python("batonpass.workers.children.child", child.has_ended)
        await child.connect(sock)
        child.send(self._setup.pack())

    async def close(self) -> None:
        """End the zygote. Its children continue."""
        if self._zygote is not None:
            await self._zygote.close()


def _why(error: Exception) -> str:
    return f"it took longer than {_PATIENCE:g} s" if isinstance(error, TimeoutError) else str(error)


class _Zygote:
    """The worker's side of a zygote."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.gone = False
        self._changed = changed
        self._channel = Channel(self._hear, self._lose)
        self._pid = 0
        self._sock: socket | None = None
        self._status: int | None = None
        self._ended = anyio.Event()
        self._lock = anyio.Lock()
        self._said: asyncio.Future[Frame | None] = asyncio.get_running_loop().create_future()
        self._expected: ChildProcess | None = None
        self._children: dict[int, ChildProcess] = {}

    async def open(self, setup: Setup, seed: Seed | None) -> bool:
        """Start it, unless there is a seed, and wait until it has imported everything. Returns whether it can fork."""
        if seed is not None:
            self._pid, self._sock = seed.pid, seed.sock
            hear_end(seed.pid, self._has_ended)
        else:
            self._pid, self._sock = await start_python("batonpass.workers.children.zygote", self._has_ended)
        await self._channel.open(self._sock)
        if seed is None:
            self._channel.send(setup.pack())
        try:
            with anyio.fail_after(_PATIENCE):
                message = await self._said
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.close()  # waits for its end, because a closed loop would complain
            raise
        if message is None:
            with anyio.move_on_after(STATUS):
                await self._ended.wait()
            message = {"failed": f"the process that imports {setup.app!r} {how(self._status)}"}
        if "failed" in message:
            await self.close()
            raise BadSetup(message["failed"])
        return bool(message["forks"])

    async def fork(self, child: ChildProcess) -> None:
        """Let it fork a child, which gets one end of a new socket. `_Gone` if it doesn't."""
        ours, theirs = socketpair()
        try:
            async with self._lock:
                with theirs:
                    await self._ask(child, theirs)
        except BaseException:
            ours.close()
            raise
        await child.connect(ours)

    async def _ask(self, child: ChildProcess, end: socket) -> None:
        self._said = asyncio.get_running_loop().create_future()
        self._expected = child
        message = None
        if not self.gone and self._sock is not None:
            with suppress(OSError), anyio.move_on_after(_FORKING) as waited:
                send_fds(self._sock, [b"f"], [end.fileno()])
                message = await self._said
            if waited.cancelled_caught:
                _log.warning("the process that forks children did not respond for %g s: it is killed", _FORKING)
                self.gone = True
                self._kill()
        if message is None:
            raise _Gone

    async def close(self) -> None:
        """End it."""
        self._kill()
        with anyio.move_on_after(1):
            await self._ended.wait()

    def _kill(self) -> None:
        self._channel.close()
        if self._pid and not self._ended.is_set():
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def _has_ended(self, status: int) -> None:
        self._status = status
        self._ended.set()

    def _hear(self, message: Frame) -> None:
        if "ended" in message:
            if child := self._children.pop(message["ended"], None):
                child.has_ended(message["status"])
            return
        if "forked" in message and self._expected is not None:
            self._expected.pid = message["forked"]
            self._children[self._expected.pid] = self._expected
        if not self._said.done():
            self._said.set_result(message)

    def _lose(self) -> None:
        self.gone = True
        if not self._said.done():
            self._said.set_result(None)
        self._changed()
