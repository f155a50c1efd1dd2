"""Bases: what a client remembers of the threads that it saves to, so that it sends only what is new."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from ..coded.codec import Codec
from ..forks import tell_of_forks
from .nodes import Base, Inline

# For how many threads, and how many bytes of states in all.
_THREADS, _BYTES = 256, 64 * 1024 * 1024


class Bases:
    """The newest known checkpoint of each thread. The least recently used are forgotten."""

    def __init__(self, codec: Codec | None = None) -> None:
        self.codec = codec
        self._lock = Lock()
        self._known: OrderedDict[str, Callable[[], Base]] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._size = 0
        tell_of_forks(self)

    def forked(self) -> None:
        """After a fork: the thread that held the lock does not exist here."""
        self._lock = Lock()

    def get(self, thread: str) -> Base | None:
        """The thread's base, if it is remembered."""
        with self._lock:
            make = self._known.get(thread)
            if make is None:
                return None
            self._known.move_to_end(thread)
        return make()

    def put(self, thread: str, base: Base) -> None:
        """Remember a checkpoint that was saved, unless it is so small that the next one is sent whole anyway."""
        if isinstance(base.state, Inline) and (base.native is None or isinstance(base.native, Inline)):
            if thread in self._known:
                self.forget(thread)
            return
        self.put_later(thread, base.size, lambda: base)

    def put_later(self, thread: str, size: int, make: Callable[[], Base]) -> None:
        """Remember a checkpoint that was read. Its base is made when it is needed."""
        with self._lock:
            self._known[thread] = make
            self._known.move_to_end(thread)
            self._size += size - self._sizes.get(thread, 0)
            self._sizes[thread] = size
            while len(self._known) > _THREADS or (len(self._known) > 1 and self._size > _BYTES):
                oldest, _ = self._known.popitem(last=False)
                self._size -= self._sizes.pop(oldest)

    def forget(self, thread: str) -> None:
        """Forget a thread that others have changed."""
        with self._lock:
            self._known.pop(thread, None)
            self._size -= self._sizes.pop(thread, 0)
