"""Recent: what a client remembers of places that it has put or read, so that it only sends what is new."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

from ...contracts.lean import dataclass
from .nodes import Base

Spot = tuple[str, str, str]
"""A thread, a scope, and a key, or "" for the last one that was put, or read as the latest."""

# How many checkpoints, and how many bytes of states in all.
_CHECKPOINTS, _BYTES = 512, 64 * 1024 * 1024


@dataclass(slots=True)
class Known:
    """A stored checkpoint. `make` gives what the next one may share with it. `held` is up to its user, and is counted
    as taking as many bytes as the state."""

    id: str
    make: Callable[[], Base]
    size: int
    held: Any = None


class Recent:
    """What is known of each spot. The least recently used are forgotten."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[Spot, Known] = OrderedDict()
        self._size = 0

    def get(self, spot: Spot) -> Known | None:
        """What is known of a spot."""
        with self._lock:
            known = self._known.get(spot)
            if known is not None:
                self._known.move_to_end(spot)
            return known

    def put(self, spot: Spot, known: Known) -> None:
        """Remember a checkpoint that was put or read."""
        with self._lock:
            self._drop(spot)
            self._known[spot] = known
            self._size += known.size
            while len(self._known) > _CHECKPOINTS or (len(self._known) > 1 and self._size > _BYTES):
                self._drop(next(iter(self._known)))

    def forget(self, thread: str) -> None:
        """Forget a thread that others have changed."""
        with self._lock:
            for spot in [spot for spot in self._known if spot[0] == thread]:
                self._drop(spot)

    def _drop(self, spot: Spot) -> None:
        known = self._known.pop(spot, None)
        self._size -= known.size if known else 0
