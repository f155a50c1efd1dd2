"""Inotify: notices writes to a file, on Linux."""

from __future__ import annotations

import ctypes
import os
import select
import sys
from contextlib import suppress
from threading import Semaphore

_IN_MODIFY = 2  # <sys/inotify.h>
_PLENTY = 1 << 16  # bytes: more than the events of one file take, because equal ones are merged
# Linux allows a user 128 for all programs. Many waiters must not take them from editors and the like.
_left = Semaphore(8)


class Inotify:
    """`watch` a file. Then `fd` becomes readable when it is written to, even if that is not committed."""

    def __init__(self) -> None:
        """Raises `OSError` if there is no inotify, or none left."""
        self.fd = -1
        if sys.platform != "linux":
            raise OSError("inotify is Linux's")
        if not _left.acquire(blocking=False):
            raise OSError("this process has enough of them")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.process = os.getpid()  # a fork would take its events away
        self.fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0:
            _left.release()
            raise OSError(ctypes.get_errno(), "inotify_init1")

    def watch(self, path: str) -> None:
        """Watch the file that now has this path. `OSError` if there is none."""
        if self._libc.inotify_add_watch(self.fd, os.fsencode(path), _IN_MODIFY) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch", path)

    def written(self) -> bool:
        """Whether there was a write since it was last asked."""
        with suppress(BlockingIOError):
            return bool(os.read(self.fd, _PLENTY))
        return False

    def wait(self, timeout: float) -> None:
        """Wait for a write since `written` was last asked, at most so many seconds."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        poll.poll(timeout * 1000)

    def close(self) -> None:
        """Stop watching."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            _left.release()

    def __del__(self) -> None:
        self.close()
