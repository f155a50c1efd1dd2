"""Several requests to a cluster at once: each node gets its requests in one piece.

The client library's own pipeline repeats failed requests by itself, one after the other, which takes minutes if a node
is silent. And once any node has failed, it first reads the cluster's layout again, which takes seconds if it asks that
node.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from anyio import create_task_group, move_on_after
from redis.asyncio.cluster import PipelineCommand
from redis.exceptions import ConnectionError, RedisClusterException, RedisError, ResponseError, TimeoutError

from .private import CLOSED, connected, cut_off, pooled_for

# A key, by which the node is found, and a command.
Request = tuple[str, Sequence[Any]]
_ANY = (RedisError, RedisClusterException, OSError, *CLOSED)
_LOST = (ConnectionError, *CLOSED)
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


def at_once(client: Any, requests: Sequence[Request], within: float) -> list[Any]:
    """The replies in order, with errors among them. Waits for all nodes at the same time, until none of them has sent
    anything for `within` seconds."""
    replies: list[Any] = [None] * len(requests)
    pieces: list[_Piece] = []
    asked = [(client.get_redis_connection(node), numbers) for node, numbers in _by_node(client, requests)]
    try:
        # Connected nodes first, because connecting to a node that is gone may take seconds.
        for node, numbers in sorted(asked, key=lambda each: not connected(each[0].connection_pool)):
            try:
                piece = _Piece(node, numbers)
                pieces.append(piece)
                piece.send([requests[number][1] for number in numbers])
            except _TROUBLE as error:
                _fail(replies, numbers, error)
        heard = time.monotonic()  # only now, because connecting may have taken long
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


def _by_node(client: Any, requests: Sequence[Request]) -> list[tuple[Any, list[int]]]:
    """Each node that is asked, and the numbers of its requests."""
    found: dict[str, tuple[Any, list[int]]] = {}
    for number, (key, _) in enumerate(requests):
        node = client.get_node_from_key(key)
        found.setdefault(node.name, (node, []))[1].append(number)
    return list(found.values())


@asynccontextmanager
async def used(client: Any, node: Any) -> AsyncGenerator[None]:
    """A block that uses a node of an async client. If the client has replaced the node meanwhile, its connections are
    closed, because nobody else would."""
    try:
        yield
    finally:
        if client.nodes_manager.nodes_cache.get(node.name) is not node:
            with suppress(*_ANY):
                cut_off(pooled_for(node))
                await node.disconnect()


async def aat_once(client: Any, requests: Sequence[Request], within: float | None) -> list[Any]:
    """`at_once` for async code, on a client that knows the cluster's layout. A node that has not answered for `within`
    seconds is given up (None: it has as long as a command may take)."""
    by_node = _by_node(client, requests)
    replies: list[Any] = [TimeoutError("the node does not answer")] * len(requests)

    async def ask(node: Any, numbers: list[int]) -> None:
        commands = [PipelineCommand(at, *requests[number][1]) for at, number in enumerate(numbers)]
        try:
            async with used(client, node):
                await node.execute_pipeline(commands)
        except _ANY as error:
            for number in numbers:
                replies[number] = error
        else:
            for number, command in zip(numbers, commands, strict=True):
                replies[number] = command.result

    with move_on_after(within):
        async with create_task_group() as nodes:
            for node, numbers in by_node:
                nodes.start_soon(ask, node, numbers)
    return replies


def _silent(
    client: Any, requests: Sequence[Request], replies: list[Any], kinds: tuple[type[Exception], ...]
) -> tuple[set[int], Any]:
    """The numbers of the requests that failed with errors of these kinds, and another node to ask about the layout: one
    that answered, or, if only one node was asked, any other. None and no numbers if there is no such node."""
    silent = {number for number, reply in enumerate(replies) if isinstance(reply, kinds)}
    answered = [key for (key, _), reply in zip(requests, replies, strict=True) if not isinstance(reply, Exception)]
    if not silent:
        return set(), None
    if answered:
        return silent, client.get_node_from_key(answered[0])
    asked = {client.get_node_from_key(key).name for key, _ in requests}
    others = [node for node in client.get_primaries() if node.name not in asked] if len(asked) == 1 else []
    return (silent, others[0]) if others else (set(), None)


def left_silent(client: Any, requests: Sequence[Request], replies: list[Any]) -> set[int]:
    """The numbers of the requests whose nodes said nothing while others answered. If one of these others says that the
    slot is on another node by now, the request is sent there, and its reply replaces the error."""
    silent, node = _silent(client, requests, replies, (TimeoutError,))
    for number in silent:
        try:
            if _has_moved(client, requests[number][0], node, client.cluster_slots(target_nodes=node)):
                # The node refuses this, and says where the slot is now. The client notes it, and goes there.
                replies[number] = client.execute_command(*requests[number][1], target_nodes=node)
        except _ANY as error:
            replies[number] = error
    return silent


async def aleft_silent(client: Any, requests: Sequence[Request], replies: list[Any], within: float) -> set[int]:
    """`left_silent` for async code. Requests that only lost their connection are sent once more, with `within` seconds
    to answer: when the client reads the cluster's layout, it may close all connections."""
    lost = [number for number, reply in enumerate(replies) if isinstance(reply, _LOST)]
    for number, reply in zip(lost, await aat_once(client, [requests[at] for at in lost], within), strict=True):
        replies[number] = reply
    silent, node = _silent(client, requests, replies, (TimeoutError, *_LOST))
    for number in silent:
        try:
            if _has_moved(client, requests[number][0], node, await node.execute_command("CLUSTER SLOTS")):
                replies[number] = await client.execute_command(*requests[number][1], target_nodes=node)
        except _ANY as error:
            replies[number] = error
    return silent


def _has_moved(client: Any, key: str, node: Any, shares: dict[tuple[int, int], Any]) -> bool:
    """Whether this node says that a key's slot is on another node than the client believes."""
    slot, known = client.keyslot(key), client.get_node_from_key(key)
    owners = [share["primary"] for (first, last), share in shares.items() if first <= slot <= last]
    return bool(owners) and (owners[0][0] or node.host, owners[0][1]) != (known.host, known.port)


def _fail(replies: list[Any], numbers: Sequence[int], error: Exception) -> None:
    for number in numbers:
        if replies[number] is None:
            replies[number] = error
