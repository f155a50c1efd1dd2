"""SqliteWatch: how clients wait for changes of a SQLite file."""

from __future__ import annotations

import time
from contextlib import suppress

import anyio

from ...contracts.errors import BadSetup, BatonpassError
from ..bell import Bell
from ..loops import PerLoop
from .change_detector import ChangeDetector
from .file_watcher import FileWatcher

# Seconds to pause after trouble, so that a client that looks and waits in turn does not spin.
_PAUSE = 0.2


class SqliteWatch:
    """Wakes with this process's bell at once, and soon after others' commits. Sync code looks by itself, tasks share
    the watcher of their loop. Trouble with the file counts as a wake-up: the caller then looks at the store, and gets
    the error. But who waits in a namespace that was moved gets that as a `BadSetup`: everything there can be read."""

    def __init__(self, bell: Bell, path: str, namespace: str, shared: PerLoop[FileWatcher]) -> None:
        self._bell = bell
        self._path = path
        self._namespace = namespace
        self._shared = shared
        self._detector: ChangeDetector | None = None
        self._watcher: FileWatcher | None = None
        self._seen = 0

    def wait(self, timeout: float) -> None:
        try:
            self._wait(timeout)
        except BadSetup:
            raise
        except BatonpassError:
            time.sleep(min(_PAUSE, timeout))

    def _wait(self, timeout: float) -> None:
        if self._detector is None:
            self._detector = ChangeDetector(self._bell, self._path, self._namespace)
            return  # the caller has to look again, because there may have been a change before this first look
        self._detector.check_not_moved()
        deadline = time.monotonic() + timeout
        detector, pace = self._detector, self._detector.begin()
        changed = detector.changed()
        while not changed and (left := deadline - time.monotonic()) > 0:
            seconds = min(left, pace.next())
            if pace.inotify:
                pace.inotify.wait(seconds)  # reports this process's writes, too
            else:
                self._bell.wait(detector.rings, seconds)
            pace.look()
            changed = detector.changed_meanwhile()

    async def aopen(self) -> None:
        with suppress(BatonpassError):
            self._begin()

    def _begin(self) -> None:
        if self._watcher is None:
            self._watcher = self._shared.here()
            self._seen = self._watcher.changes

    async def await_(self, timeout: float) -> None:
        try:
            await self._await(timeout)
        except BadSetup:
            raise
        except BatonpassError:
            await anyio.sleep(min(_PAUSE, timeout))

    async def _await(self, timeout: float) -> None:
        if self._watcher is None:
            self._begin()
            return
        self._watcher.check_not_moved()
        with self._watcher.sleeper() as woken:
            if self._watcher.changes == self._seen:
                with anyio.move_on_after(timeout):
                    await woken.wait()
        self._seen = self._watcher.changes

    async def ainterrupt(self) -> None:
        self._bell.ring()

    def close(self) -> None:
        if self._detector is not None:
            self._detector.close()

    async def aclose(self) -> None:
        """Nothing: the watcher belongs to the store."""
