"""Sight: what somebody who waits sees of a file: this process's bell, and the commits of others."""

from __future__ import annotations

import os
import sqlite3
from functools import partial

from ..bell import Bell
from .ear import Ear
from .file import open_file
from .handle import Handle
from .pace import Pace
from .troubles import in_our_words
from .waiting import patiently


class Sight:
    """Others' commits show in `PRAGMA data_version`, of a connection that it keeps. An ear hears that they may."""

    def __init__(self, bell: Bell, path: str) -> None:
        self._path = path
        self._bell = bell
        self._handle = Handle(partial(open_file, path, "rw"))
        self._ear: Ear | None = None
        self.deaf = False
        self._pace = Pace(None)
        self.rings = bell.rings
        self._version = self._data_version()

    def _data_version(self) -> tuple[int, int]:
        """Differs from the last answer if somebody else has committed since, or if the connection is a new one."""
        try:
            with self._handle as connection:
                version: int = patiently(lambda: connection.execute("PRAGMA data_version").fetchone()[0])
                return self._handle.times_opened, version
        except sqlite3.Error as error:
            raise in_our_words(error, self._path) from error

    def changed(self) -> bool:
        """Whether it is not as at the last look."""
        before = self.rings, self._version
        self.rings, self._version = self._bell.rings, self._data_version()
        return (self.rings, self._version) != before

    def begin(self) -> Pace:
        """When to look, for a wait that begins now."""
        self._pace = Pace(self._listening())
        return self._pace

    def changed_meanwhile(self) -> bool:
        """`changed` in such a wait. If others' writes are not heard, as in a folder that another kernel writes to, the
        next waits look every 10 ms."""
        before = self._version
        changed = self.changed()
        if before != self._version and before[0] == self._version[0] and self._pace.silent:
            self.deaf = True
        return changed

    def _listening(self) -> Ear | None:
        """An ear at the write-ahead log, which another connection may have made anew."""
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
        """See nothing more."""
        self._shut()
        self._handle.close()
