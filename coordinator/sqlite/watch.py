"""SqliteWatch: how clients wait for changes of a SQLite file."""

from __future__ import annotations

import time
from contextlib import suppress

import anyio

from ...contracts.errors import BadSetup, BatonpassError
from ..bell import Bell
from ..loops import PerLoop
from .lookout import Lookout
from .sight import Sight

# Seconds to pause after trouble, so that a client that looks and waits in turn does not spin.
_PAUSE = 0.2


class SqliteWatch:
    """Wakes with this process's bell at once, and soon after others' commits. Sync code has a sight of its own, tasks
    share that of their loop. Trouble with the file counts as a wake-up: the caller then looks at the store, and gets
    the error. But who waits in a namespace that was moved gets that as a `BadSetup`: everything there can be read."""

    def __init__(self, bell: Bell, path: str, namespace: str, shared: PerLoop[Lookout]) -> None:
        self._bell = bell
        self._path = path
        self._namespace = namespace
        self._shared = shared
        self._sight: Sight | None = None
        self._lookout: Lookout | None = None
        self._seen = 0

    def wait(self, timeout: float) -> None:
        try:
            self._wait(timeout)
        except BadSetup:
            raise
        except BatonpassError:
            time.sleep(min(_PAUSE, timeout))

    def _wait(self, timeout: float) -> None:
        if self._sight is None:
            self._sight = Sight(self._bell, self._path, self._namespace)
            return  # the caller has to look again, because there may have been a change before this first look
        self._sight.check_not_moved()
        deadline = time.monotonic() + timeout
        sight, pace = self._sight, self._sight.begin()
        changed = sight.changed()
        while not changed and (left := deadline - time.monotonic()) > 0:
            seconds = min(left, pace.next())
            if pace.ear:
                pace.ear.wait(seconds)  # hears this process, too
            else:
                self._bell.wait(sight.rings, seconds)
            pace.listen()
            changed = sight.changed_meanwhile()

    async def aopen(self) -> None:
        with suppress(BatonpassError):
            self._begin()

    def _begin(self) -> None:
        if self._lookout is None:
            self._lookout = self._shared.here()
            self._seen = self._lookout.changes

    async def await_(self, timeout: float) -> None:
        try:
            await self._await(timeout)
        except BadSetup:
            raise
        except BatonpassError:
            await anyio.sleep(min(_PAUSE, timeout))

    async def _await(self, timeout: float) -> None:
        if self._lookout is None:
            self._begin()
            return
        self._lookout.check_not_moved()
        with self._lookout.sleeper() as woken:
            if self._lookout.changes == self._seen:
                with anyio.move_on_after(timeout):
                    await woken.wait()
        self._seen = self._lookout.changes

    async def ainterrupt(self) -> None:
        self._bell.ring()

    def close(self) -> None:
        if self._sight is not None:
            self._sight.close()

    async def aclose(self) -> None:
        """Nothing: the lookout belongs to the store."""
