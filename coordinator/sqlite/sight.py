"""Sight: what a waiting reader sees of a file: this process's bell, and other processes' commits."""

from __future__ import annotations

import os
import sqlite3
from functools import partial

from ..bell import Bell
from .ear import Ear
from .file import open_file
from .handle import Handle
from .moved import check_not_moved
from .pace import Pace
from .troubles import in_our_words
from .waiting import patiently


class Sight:
    """Others' commits change `PRAGMA data_version` of a connection that is kept open. An ear tells when to look."""

    def __init__(self, bell: Bell, path: str, namespace: str) -> None:
        self._path = path
        self._namespace = namespace
        self._bell = bell
        self._handle = Handle(partial(open_file, path, "rw"))
        self._ear: Ear | None = None
        self.deaf = False
        self._pace = Pace(None)
        self.rings = bell.rings
        self._version = self._data_version()

    def _data_version(self) -> tuple[int, int]:
        """Changes whenever another process has committed, or the connection is a new one."""
        try:
            with self._handle as connection:
                version: int = patiently(lambda: connection.execute("PRAGMA data_version").fetchone()[0])
                return self._handle.times_opened, version
        except sqlite3.Error as error:
            raise in_our_words(error, self._path) from error

    def check_not_moved(self) -> None:
        """`BadSetup` if the namespace was moved to Redis: here, nothing will change any more."""
        try:
            with self._handle as connection:
                patiently(lambda: check_not_moved(connection, self._namespace))
        except sqlite3.Error as error:
            raise in_our_words(error, self._path) from error

    def changed(self) -> bool:
        """Whether there was a change since the last look."""
        before = self.rings, self._version
        self.rings, self._version = self._bell.rings, self._data_version()
        return (self.rings, self._version) != before

    def begin(self) -> Pace:
        """The pace of a wait that begins now."""
        self._pace = Pace(self._listening())
        return self._pace

    def changed_meanwhile(self) -> bool:
        """`changed`, for such a wait. If it finds writes that the ear did not hear (in a folder to which another kernel
        writes), the next waits look every 10 ms."""
        before = self._version
        changed = self.changed()
        if before != self._version and before[0] == self._version[0] and self._pace.silent:
            self.deaf = True
        return changed

    def _listening(self) -> Ear | None:
        """An ear at the write-ahead log, which may be a new one since another connection was opened."""
        if self._ear and (self.deaf or self._ear.process != os.getpid()):
            self._shut()
        if not self._ear and not self.deaf:
            try:
                self._ear = Ear()
            except OSError:
                self.deaf = True
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

    def close(self) -> None:
        """Close everything."""
        self._shut()
        self._handle.close()
