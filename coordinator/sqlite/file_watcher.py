"""FileWatcher: watches a file for all tasks of an event loop that wait for changes.

A connection for each task would use up the files that a process may open: by default 1,024, for half as many tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from ...contracts.errors import BatonpassError
from ..bell import Bell
from .change_detector import ChangeDetector


class FileWatcher:
    """Looks while tasks wait. `changes` counts the changes: remember it, so that you miss none."""

    def __init__(self, bell: Bell, path: str, namespace: str) -> None:
        self._bell = bell
        self._loop = asyncio.get_running_loop()
        self._detector = ChangeDetector(bell, path, namespace)
        self._pace = self._detector.begin()
        self._sleepers: set[asyncio.Event] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.check_not_moved = self._detector.check_not_moved
        self.changes = 0

    @contextmanager
    def sleeper(self) -> Generator[asyncio.Event]:
        """An event that every change sets."""
        woken = asyncio.Event()
        first = not self._sleepers
        self._sleepers.add(woken)
        try:
            if first:
                self._begin()
            else:
                self._look()
            yield woken
        finally:
            if woken in self._sleepers:  # or everything was closed meanwhile
                self._sleepers.remove(woken)
                if not self._sleepers:
                    self._end()

    def _begin(self) -> None:
        self._bell.call(self._loop, self._look)
        self._pace = self._detector.begin()
        if self._pace.inotify:
            self._loop.add_reader(self._pace.inotify.fd, self._written)
        if self._detector.changed():
            self._wake()
        self._later()

    def _end(self) -> None:
        self._bell.forget(self._loop, self._look)
        if self._timer:
            self._timer.cancel()
        if self._pace.inotify:
            self._loop.remove_reader(self._pace.inotify.fd)

    def _written(self) -> None:
        self._pace.look()
        self._look()

    def _look(self) -> None:
        if not self._sleepers:  # the bell rang late
            return
        try:
            changed = self._detector.changed_meanwhile()
        except BatonpassError:
            changed = True  # the tasks will look, too, and get the error there
        if changed:
            self._wake()
        if self._pace.inotify and self._detector.polls:
            self._end()
            self._begin()
        self._later()

    def _wake(self) -> None:
        self.changes += 1
        for woken in self._sleepers:
            woken.set()

    def _later(self) -> None:
        # One timer, because a wait with a timeout for each look takes twice the CPU time.
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_later(self._pace.next(), self._look)

    async def aclose(self) -> None:
        """Wake all tasks, and stop looking."""
        if self._sleepers:
            self._wake()
            self._end()
            self._sleepers.clear()
        self._detector.close()
