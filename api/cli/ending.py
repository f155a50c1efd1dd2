"""Ending: a command that is told to stop leaves nothing behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class _Ended(BaseException):
    """SIGTERM came."""


def _go_on(number: int, frame: FrameType | None) -> None:
    """It is ending already."""


@contextmanager
def tidy_at_sigterm() -> Generator[None]:
    """A block that writes a file: SIGTERM (a time limit, a service that is stopped) ends it as an error does, so that
    what it has begun is removed. Then the process ends by that signal, and others meanwhile change nothing. (Only a
    main thread hears signals: programs may run commands in others.)"""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, _go_on)  # not SIG_IGN: Python complains of a signal that was already on its way
        raise _Ended

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except _Ended:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
