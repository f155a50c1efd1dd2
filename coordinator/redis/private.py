"""What we use of redis-py's connections that is private there. A new release of it is checked against this file.

It has no public way to share a connection: to write commands and read replies without waiting for each in turn.
"""

from __future__ import annotations

from asyncio import Protocol, WriteTransport
from collections.abc import Callable
from typing import Any

# How a command ends whose connection is closed meanwhile (from Python 3.12 on, a write is a TypeError). The async
# cluster client itself closes connections in use when it looks for a slot's new node.
CLOSED = (AttributeError, TypeError)


def take_over(connection: Any, protocol: Protocol) -> WriteTransport:
    """Give what a connection receives to a protocol of ours. Returns the transport to write to."""
    transport: WriteTransport = connection._writer.transport
    transport.set_protocol(protocol)
    return transport


def error_reader(connection: Any) -> Callable[[str], Exception]:
    """Makes the client's error from the text of an error reply."""
    read: Callable[[str], Exception] = connection._parser.parse_error
    return read


def is_lost(connection: Any) -> bool:
    """Whether the server has disconnected. (The pool doesn't look, and `can_read_destructive` waits and reads.)"""
    return bool(connection._reader.at_eof())


def connected(pool: Any) -> bool:
    """Whether a pool of sync connections has one that is connected and that nobody uses."""
    return any(each._sock for each in pool._available_connections)


def idle(pool: Any) -> list[Any]:
    """A pool's connections that nobody uses. (Its `disconnect` waits until the server has closed each of them, too.)"""
    return list(pool._available_connections)
