"""Several requests to a cluster at once, from sync code: each node gets what is for it in one piece.

The client library's own pipeline sends what failed again by itself, one after the other: with a silent node that takes
minutes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from redis.exceptions import ConnectionError, ResponseError, TimeoutError

_TROUBLE = (ConnectionError, TimeoutError, OSError)


class _Piece:
    """Requests to one node, over one connection. `numbers` are their numbers among all requests."""

    def __init__(self, node: Any, numbers: list[int]) -> None:
        self._node = node
        self.numbers = numbers
        self._connection = node.connection_pool.get_connection()
        self._left = 0

    def send(self, commands: Sequence[Sequence[Any]]) -> None:
        self._left = len(commands)
        self._connection.send_packed_command(self._connection.pack_commands(commands))

    def read(self, command: Sequence[Any], *, wait: bool) -> Any:
        """The next reply, which may be an error that the server answered with."""
        if not wait and not self._connection.can_read(timeout=0):
            raise TimeoutError("the node does not answer")
        try:
            reply = self._node.parse_response(self._connection, command[0])
        except ResponseError as error:
            reply = error
        self._left -= 1
        return reply

    def close(self) -> None:
        if self._left:  # unread replies must not be taken for those of later commands
            self._connection.disconnect()
        self._node.connection_pool.release(self._connection)


def at_once(client: Any, requests: Sequence[tuple[str, Sequence[Any]]], within: float) -> list[Any]:
    """The replies in order, errors among them. Waits for all nodes at the same time, until none of them has said
    anything for this many seconds."""
    heard = time.monotonic()
    replies: list[Any] = [None] * len(requests)
    by_node: dict[str, tuple[Any, list[int]]] = {}
    for number, (key, _) in enumerate(requests):
        node = client.get_node_from_key(key)
        by_node.setdefault(node.name, (node, []))[1].append(number)
    pieces: list[_Piece] = []
    try:
        for node, numbers in by_node.values():
            try:
                piece = _Piece(client.get_redis_connection(node), numbers)
                pieces.append(piece)
                piece.send([requests[number][1] for number in numbers])
            except _TROUBLE as error:
                _fail(replies, numbers, error)
        for piece in pieces:
            try:
                for number in piece.numbers:
                    if replies[number] is None:
                        wait = time.monotonic() < heard + within
                        replies[number] = piece.read(requests[number][1], wait=wait)
                        heard = time.monotonic()
            except _TROUBLE as error:
                _fail(replies, piece.numbers, error)
    finally:
        for piece in pieces:
            piece.close()
    return replies


def _fail(replies: list[Any], numbers: Sequence[int], error: Exception) -> None:
    for number in numbers:
        if replies[number] is None:
            replies[number] = error
