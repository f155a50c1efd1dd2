"""The app of the tests of isolation, in a module that can't be forked after its import: it starts a thread."""

from __future__ import annotations

import threading

from .apart import app

threading.Thread(target=threading.Event().wait, daemon=True).start()

__all__ = ["app"]
