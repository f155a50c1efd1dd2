"""ChangeDetector: how a waiting reader notices changes: by this process's bell, and other processes' commits."""

from __future__ import annotations

import os
import sqlite3
from functools import partial

from ..bell import Bell
from .file import open_file
from .handle import Handle
from .inotify import Inotify
from .moved import check_not_moved
from .pace import Pace
from .troubles import in_our_words
from .waiting import patiently


class ChangeDetector:
    """Others' commits change `PRAGMA data_version` of a connection that is kept open. inotify tells when to look."""

    def __init__(self, bell: Bell, path: str, namespace: str) -> None:
        self._path = path
        self._namespace = namespace
        self._bell = bell
        self._handle = Handle(partial(open_file, path, "rw"))
        self._inotify: Inotify | None = None
        self.polls = False
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
        self._pace = Pace(self._watching())
        return self._pace

    def changed_meanwhile(self) -> bool:
        """`changed`, for such a wait. If it finds writes that inotify did not report (in a folder to which another
        kernel writes), the next waits look every 10 ms."""
        before = self._version
        changed = self.changed()
        if before != self._version and before[0] == self._version[0] and self._pace.silent:
            self.polls = True
        return changed

    def _watching(self) -> Inotify | None:
        """Watches the write-ahead log, which may be a new one since another connection was opened."""
        if self._inotify and (self.polls or self._inotify.process != os.getpid()):
            self._shut()
        if not self._inotify and not self.polls:
            try:
                self._inotify = Inotify()
            except OSError:
                self.polls = True
        try:
            if self._inotify:
                self._inotify.watch(self._path + "-wal")
        except OSError:
            return None
        return self._inotify

    def _shut(self) -> None:
        inotify, self._inotify = self._inotify, None
        if inotify:
            inotify.close()

    def close(self) -> None:
        """Close everything."""
        self._shut()
        self._handle.close()
