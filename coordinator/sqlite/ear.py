"""Ear: hears that somebody writes to a file, by Linux's inotify."""

from __future__ import annotations

import ctypes
import os
import select
import sys
from contextlib import suppress
from threading import Semaphore

_IN_MODIFY = 2  # <sys/inotify.h>
_PLENTY = 1 << 16  # bytes: more than the events of one file take, as equal ones are put together
# Linux gives a user 128 for all programs: a crowd of waiters must not take them from editors and the like.
_left = Semaphore(8)


class Ear:
    """`listen` to a file; then `fd` can be read when it was written to, whether or not that was committed."""

    def __init__(self) -> None:
        """`OSError` where there is no inotify, or none left."""
        self.fd = -1
        if sys.platform != "linux":
            raise OSError("inotify is Linux's")
        if not _left.acquire(blocking=False):
            raise OSError("this process has enough of them")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.process = os.getpid()  # a fork of it would take its events away
        self.fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0:
            _left.release()
            raise OSError(ctypes.get_errno(), "inotify_init1")

    def listen(self, path: str) -> None:
        """To the file that has this path now. `OSError` if there is none."""
        if self._libc.inotify_add_watch(self.fd, os.fsencode(path), _IN_MODIFY) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch", path)

    def heard(self) -> bool:
        """Whether there was a write since the last answer."""
        with suppress(BlockingIOError):
            return bool(os.read(self.fd, _PLENTY))
        return False

    def wait(self, timeout: float) -> None:
        """Until there was a write since the last answer of `heard`, or so many seconds."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        poll.poll(timeout * 1000)

    def close(self) -> None:
        """Hear nothing more."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            _left.release()

    def __del__(self) -> None:
        self.close()
