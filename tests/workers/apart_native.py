"""The app of the tests of isolation, in a module that starts a thread as a library in another language does: Python's
`threading` does not know it."""

from __future__ import annotations

import _thread
import threading

from .apart import app

_thread.start_new_thread(threading.Event().wait, ())

__all__ = ["app"]
