"""Pool: a worker's children. Worn ones are replaced, and one is kept ready."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from ...contracts.errors import BadSetup
from .child_factory import ChildFactory
from .frames import Frame
from .seed import Seed
from .setup import Setup
from .start import ChildProcess

_log = logging.getLogger("batonpass.worker")
# Seconds that a child may take to leave its lifespan and close its store, if the worker ends, and if it is replaced.
_LEAVING, _RETIRING = 1.0, 10.0
# ... and between two tries to start the process that forks children.
_REST = 10.0


@dataclass(frozen=True)
class Wear:
    """When a child is replaced between two deliveries: after `jobs` of them, or above `memory` MB (0: never)."""

    jobs: int = 0
    memory: int = 0

    def reached(self, child: ChildProcess, report: Frame) -> bool:
        """Whether to replace a child."""
        return 0 < self.jobs <= child.jobs or 0 < self.memory < report["memory"]


class Pool:
    """Children for up to `size` deliveries at once, of the named agents. Unless it is `warm`, nothing is started before
    it is needed."""

    def __init__(
        self,
        setup: Setup,
        agents: Collection[str],
        size: int,
        wear: Wear,
        *,
        warm: bool = True,
        seed: Seed | None = None,
    ) -> None:
        self.agents = frozenset(agents)
        self._size = size
        self._warm = warm
        self._wear = wear
        self._factory = ChildFactory(setup, self._notify, seed)
        self._children: set[ChildProcess] = set()
        self._idle: list[ChildProcess] = []
        self._leaving: set[ChildProcess] = set()
        self._starting = self._waiting = self._failures = 0
        self._failure: BadSetup | None = None
        self._reviving = self._draining = False
        self._news = anyio.Event()

    async def open(self) -> None:
        """Start the first child. `BadSetup` if that fails."""
        self._starting += 1
        await self._start()
        if self._failure is not None:
            await self.close()
            raise self._failure

    async def run(self) -> None:
        """Keep children ready, until cancelled."""
        async with anyio.create_task_group() as starts:
            while True:
                news = self._news
                self._start_wanted(starts)
                await news.wait()

    async def take(self) -> ChildProcess | None:
        """A child that is ready. None once the pool drains. `BadSetup` if none can be had now."""
        failures = self._failures
        self._waiting += 1
        self._notify()
        try:
            while not (self._idle or self._draining):
                if self._failure is not None and self._failures > failures:
                    raise self._failure
                await self._news.wait()
        finally:
            self._waiting -= 1
        return None if self._draining else self._idle.pop()

    def give_back(self, child: ChildProcess, report: Frame | None) -> None:
        """Return a taken child that has reported. Without a report it is killed."""
        if report is None or child.gone:
            self._children.discard(child)
            child.kill()
        elif self._wear.reached(child, report):
            _log.info("process %d is replaced after %d jobs, with %d MB", child.pid, child.jobs, report["memory"])
            self._children.discard(child)
            self._leaving.add(child)
            child.send({"end": True})
            asyncio.get_running_loop().call_later(_RETIRING, child.kill)
        else:
            self._idle.append(child)
        self._notify()

    def drain(self) -> None:
        """Give running deliveries back at their next checkpoint, and hand out no more children."""
        self._draining = True
        self._notify()
        for child in self._children.difference(self._idle):
            child.send({"drain": True})

    async def close(self) -> None:
        """End all children, idle ones gracefully."""
        everyone = self._children | self._leaving
        for child in everyone:
            if child in self._idle:
                child.send({"end": True})
            elif child not in self._leaving:
                child.kill()
        with anyio.move_on_after(_LEAVING):
            while any(not child.gone for child in everyone):
                await self._news.wait()
        for child in everyone:
            child.kill()
        await self._factory.close()

    def _start_wanted(self, starts: TaskGroup) -> None:
        if self._warm and not self._factory.is_open and not self._reviving:
            self._reviving = True
            starts.start_soon(self._revive)
        # After a failure, retry only if somebody waits: a warm child is not worth endless attempts.
        ahead = 1 if self._warm and self._failure is None else 0
        wanted = max(self._waiting, ahead) - len(self._idle) - self._starting
        room = self._size + (0 if self._factory.forks else 1) - len(self._children) - self._starting
        for _ in range(min(wanted, room)):
            self._starting += 1
            starts.start_soon(self._start)

    async def _start(self) -> None:
        try:
            child = await self._factory.make(self._lose)
        except BadSetup as error:
            self._failure = error
            self._failures += 1
        else:
            self._failure = None
            self._children.add(child)
            self._idle.append(child)
        finally:
            self._starting -= 1
            self._notify()

    async def _revive(self) -> None:
        _log.warning("the process that forks children has died: starting another one")
        try:
            await self._factory.open()
        except BadSetup as error:
            _log.error("no children can be made: %s", error)
            await anyio.sleep(_REST)
        finally:
            self._reviving = False
            self._notify()

    def _lose(self, child: ChildProcess) -> None:
        self._children.discard(child)
        self._leaving.discard(child)
        if child in self._idle:
            self._idle.remove(child)
        self._notify()

    def _notify(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()
