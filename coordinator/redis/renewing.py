"""Renewing: async connections that notice when their certificates' files have changed.

Certificates may live for hours, and whatever renews them replaces their files. For sync code, redis-py reads them for
each connection; for async code, it reads them once, and a connection that is lost is made again with the old ones. (To
read them each time would hold up the loop for some 20 ms, mostly for the system's own authorities.)
"""

from __future__ import annotations

import os
from typing import Any

from redis.asyncio.connection import SSLConnection
from redis.asyncio.sentinel import SentinelManagedSSLConnection


def _marks(*files: str | None) -> list[tuple[int, ...] | None]:
    """What tells a file from one that replaces it, and changes when it is written. None if it is not there."""
    marks: list[tuple[int, ...] | None] = []
    for file in files:
        try:
            about = os.stat(file) if file else None
        except OSError:
            about = None
        marks.append(about and (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns))
    return marks


class _Renewing(SSLConnection):
    _read: list[tuple[int, ...] | None] | None = None

    def _connection_arguments(self) -> Any:
        marks = _marks(self.ca_certs, self.certfile, self.keyfile)
        if marks != self._read:
            self.ssl_context.context = None  # it is made when it is needed
            self._read = marks
        usual: Any = super()  # typed in part only
        return usual._connection_arguments()


class _RenewingBySentinel(_Renewing, SentinelManagedSSLConnection):
    pass


_INSTEAD: dict[type[Any], type[Any]] = {
    SSLConnection: _Renewing,
    SentinelManagedSSLConnection: _RenewingBySentinel,
}


def renewing(kind: Any) -> Any:
    """The kind of connection that reads changed files again, in place of one of redis-py's."""
    return _INSTEAD.get(kind, kind)
