"""What we use of redis-py's connections that is private there. A new release of it is checked against this file (and
renewing.py, which changes how they begin).

It has no public way to share a connection: to write commands and read replies without waiting for each in turn.
"""

from __future__ import annotations

from asyncio import Protocol, WriteTransport
from collections.abc import Callable, Iterable
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


def pooled(pool: Any) -> list[Any]:
    """All connections of a pool of async ones, also those in use."""
    return [*pool._available_connections, *pool._in_use_connections]


def pooled_for(node: Any) -> list[Any]:
    """All connections to a node of a cluster, for async code."""
    return list(node._connections)


def cut_off(connections: Iterable[Any]) -> None:
    """Cut async connections off, so that whoever closes them then waits for nobody. Over TLS, the client library waits
    for the server's farewell. One that hangs sends none, and if the wait is cancelled, what comes out of it may be a
    CancelledError that no cancel scope takes for its own."""
    for connection in connections:
        if connection._writer is not None:
            connection._writer.transport.abort()


def idle(pool: Any) -> list[Any]:
    """A pool's connections that nobody uses. (Its `disconnect` waits until the server has closed each of them, too.)"""
    return list(pool._available_connections)
