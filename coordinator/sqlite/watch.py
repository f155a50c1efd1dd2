"""How somebody waits for a change of a SQLite file."""

from __future__ import annotations

import os
import sqlite3
import time
from functools import partial

import anyio

from ..bell import Bell
from .ear import Ear
from .file import open_file
from .handle import Handle
from .looks import Looks, Pace
from .troubles import in_our_words
from .waiting import patiently


class SqliteWatch:
    """Rings with this process's bell at once, and soon after others' commits: these show in `PRAGMA data_version`."""

    def __init__(self, bell: Bell, path: str) -> None:
        self._bell = bell
        self._path = path
        self._seen = bell.rings
        self._handle = Handle(partial(open_file, path))
        self._ear: Ear | None = None
        self._deaf = False
        self._version: tuple[int, int] = self._data_version()

    def _data_version(self) -> tuple[int, int]:
        """Differs from the last answer if somebody else has committed since, or if the connection is a new one."""
        try:
            with self._handle as connection:
                version: int = patiently(lambda: connection.execute("PRAGMA data_version").fetchone()[0])
                return self._handle.times_opened, version
        except sqlite3.Error as error:
            raise in_our_words(error, self._path) from error

    def _changed(self) -> bool:
        rings, version = self._bell.rings, self._data_version()
        changed = rings != self._seen or version != self._version
        self._seen, self._version = rings, version
        return changed

    def wait(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        pace = Pace(self._listening())
        changed, before = self._changed(), self._version
        while not changed and (left := deadline - time.monotonic()) > 0:
            self._sleep(pace.ear, min(left, pace.next()))
            pace.listen()
            changed = self._changed()
        self._mind(pace, before)

    def _sleep(self, ear: Ear | None, seconds: float) -> None:
        if ear:
            ear.wait(seconds)  # it hears this process, too
        else:
            self._bell.wait(self._seen, seconds)

    async def await_(self, timeout: float) -> None:
        with self._bell.sleeper() as woken:
            pace = Pace(self._listening())
            if self._changed():
                return
            before = self._version
            with Looks(self._changed, woken, pace), anyio.move_on_after(timeout):
                await woken.wait()
            self._changed()
            self._mind(pace, before)

    def _mind(self, pace: Pace, before: tuple[int, int]) -> None:
        """Look every 10 ms from now on if others' writes are not heard: in a folder that another kernel writes to."""
        if pace.silent and self._version[0] == before[0] and self._version != before:
            self._deaf = True
            self._shut()

    def _listening(self) -> Ear | None:
        """An ear at the write-ahead log, which another connection may have made anew."""
        if self._ear and self._ear.process != os.getpid():
            self._shut()
        if not self._ear and not self._deaf:
            try:
                self._ear = Ear()
            except OSError:
                self._deaf = True
        try:
            if self._ear:
                self._ear.listen(self._path + "-wal")
        except OSError:
            return None
        return self._ear

    def _shut(self) -> None:
        ear, self._ear = self._ear, None
        if ear:
            ear.close()

    async def ainterrupt(self) -> None:
        self._bell.ring()

    async def aopen(self) -> None:
        """Open since it was made."""

    def close(self) -> None:
        self._shut()
        self._handle.close()

    async def aclose(self) -> None:
        self.close()
