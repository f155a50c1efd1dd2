"""Several requests to a cluster at once, from sync code: each node gets what is for it in one piece.

The client library's own pipeline sends what failed again by itself, one after the other: with a silent node that takes
minutes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from redis.exceptions import ConnectionError, RedisClusterException, RedisError, ResponseError, TimeoutError

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

    def read(self, command: Sequence[Any], *, within: float) -> Any:
        """The next reply, which may be an error that the server answered with."""
        if not self._connection.can_read(timeout=within):
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
        heard = time.monotonic()  # not before: to connect takes as long as it takes
        for piece in pieces:
            try:
                for number in piece.numbers:
                    if replies[number] is None:
                        left = max(heard + within - time.monotonic(), 0)
                        replies[number] = piece.read(requests[number][1], within=left)
                        heard = time.monotonic()
            except _TROUBLE as error:
                _fail(replies, piece.numbers, error)
    finally:
        for piece in pieces:
            piece.close()
    return replies


def left_silent(client: Any, requests: Sequence[tuple[str, Sequence[Any]]], replies: list[Any]) -> set[int]:
    """The numbers of the requests whose nodes said nothing, while others answered. If another node has the slot by now,
    as one of those that answer says, the request goes there, and its reply is put in the error's place."""
    silent = {number for number, reply in enumerate(replies) if isinstance(reply, TimeoutError)}
    answered = [key for (key, _), reply in zip(requests, replies, strict=True) if not isinstance(reply, Exception)]
    if not silent or not answered:
        return set()
    node = client.get_node_from_key(answered[0])
    for number in silent:
        try:
            if _has_moved(client, requests[number][0], node):
                # It refuses this, and says where the slot is now: the client notes that, and goes there.
                replies[number] = client.execute_command(*requests[number][1], target_nodes=node)
        except (RedisError, RedisClusterException, OSError) as error:
            replies[number] = error
    return silent


def _has_moved(client: Any, key: str, node: Any) -> bool:
    """Whether a key's slot is on another node than the client believes, by what this node says."""
    slot, known = client.keyslot(key), client.get_node_from_key(key)
    shares: dict[tuple[int, int], Any] = client.cluster_slots(target_nodes=node)
    owners = [share["primary"] for (first, last), share in shares.items() if first <= slot <= last]
    return bool(owners) and (owners[0][0] or node.host, owners[0][1]) != (known.host, known.port)


def _fail(replies: list[Any], numbers: Sequence[int], error: Exception) -> None:
    for number in numbers:
        if replies[number] is None:
            replies[number] = error
