"""Ports for the servers that tests start: free ones, and nobody else's until the process that took them has ended."""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

# Systems give outgoing connections ports above these (Linux from 32,768, others from 49,152): a port from there may be
# gone before the server has it, or while a killed one is away. The nodes of a cluster talk 10,000 above their own.
_OURS = range(11_000, 21_000)
_ABOVE = 10_000


def take_port() -> int:
    """A free port with another free one 10,000 above. No other process of the tests is given them meanwhile."""
    folder = Path(tempfile.gettempdir()) / f"batonpass-test-ports-{os.getuid()}"  # others' files could not be opened
    folder.mkdir(exist_ok=True)
    while True:
        port = secrets.choice(_OURS)  # not `random`: a test's seed would lead two processes the same way
        claim = os.open(folder / str(port), os.O_CREAT | os.O_RDWR)  # left open: the lock lasts as long as the process
        with suppress(OSError):
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _probe(port)
            _probe(port + _ABOVE)
            return port
        os.close(claim)


def _probe(port: int) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", port))
