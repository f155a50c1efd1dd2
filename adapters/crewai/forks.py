"""Forks: CrewAI's event bus in a child process. Its private parts are here, checked with crewai 1.15.6 and 1.15.30.

The bus has a pool of threads and a loop in a thread, which exist from the first event on that anybody handles. A child
of a fork has neither, and the bus doesn't notice: a flow would wait forever for those who are told that it starts.
"""

from __future__ import annotations

import os
from threading import Lock, RLock
from typing import Any

from crewai.events import crewai_event_bus
from crewai.utilities.rw_lock import RWLock

_left: list[Any] = []


def _renew() -> None:
    """Have the bus of this child begin anew with its next event. Who listens stays."""
    bus: Any = crewai_event_bus
    # Never closed: that would take the pipe which wakes the parent's loop out of the selector that both share.
    _left.append(getattr(bus, "_loop", None))
    type(bus)._instance_lock = RLock()
    bus._rwlock, bus._futures_lock = RWLock(), Lock()
    bus._pending_futures = set()
    bus._executor_initialized = bus._has_pending_events = False


os.register_at_fork(after_in_child=_renew)
