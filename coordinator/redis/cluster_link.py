"""ClusterLink: the addresses of a Redis Cluster, and the two clients (sync and async) that send requests to it."""

from __future__ import annotations

import random
import time
from asyncio import Semaphore
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from threading import Lock
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import anyio
import redis
import redis.asyncio
from redis import cluster, exceptions
from redis.asyncio import cluster as asyncio_cluster
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from ..closing import end_all
from ..forks import tell_of_forks
from ..lifetime import Lifetime
from ..loops import PerLoop
from ..urls import unusable
from .channels import Channels
from .cluster_pieces import Request, aat_once, aleft_silent, at_once, left_silent, used
from .in_use import InUse
from .loop_client import MOST_CONNECTIONS
from .patience import patience
from .place import NAMED, Place, read_place
from .private import CLOSED, cut_off, pooled_for
from .renewing import renewing
from .subscription import Subscription

# The client library is typed in part only.
_Sync: Any = redis.RedisCluster
_Async: Any = redis.asyncio.RedisCluster
_SyncNode: Any = cluster.ClusterNode
_AsyncNode: Any = asyncio_cluster.ClusterNode
# Commands for a node that name no key.
_KEYLESS = frozenset({"INFO", "PUBLISH"})
TROUBLE = (exceptions.RedisError, exceptions.RedisClusterException, OSError)
ASYNC_TROUBLE = (*TROUBLE, *CLOSED)
# Seconds between attempts. (The client library's own attempts would take minutes if a node is silent.)
_PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0)
# Between more attempts, while a slot moves. (Nodes that are busy take seconds to agree on where it is. Until then each
# may name another one: the client follows them 16 times and gives up.)
_MOVING_PAUSE = 0.5
# Seconds. These must not cut a worker's wait, which is a blocking call: see cluster_watch.py. (Shorter than for one
# server, because the client may ask several nodes for the slots before it repeats a command.)
_DEFAULTS = {"health_check_interval": 30, "socket_connect_timeout": 1.5, "socket_timeout": 3.0}

# Seconds that the nodes which answer may be kept waiting for one that does not, by who is in haste. Then that one is
# asked once more, if there is a moment left: the client looks for a slot's new node only when it fails.
_HASTE, _MOMENT = 1.0, 0.25

# How often a node is asked directly, before the client is left to find out where it is.
_DIRECTLY = 2
_NOT_ASKED: Any = object()


class Side(InUse):
    """The client of one event loop, and a limit for how many use it at the same time."""

    def __init__(self, client: Any) -> None:
        super().__init__()
        self.client = client
        self.room = Semaphore(MOST_CONNECTIONS)

    async def disconnect(self) -> None:
        for node in self._nodes():
            cut_off(pooled_for(node))
        await self.client.aclose()
        # The client leaves these open if it is about to read the cluster's layout again.
        for node in self._nodes():
            with suppress(*ASYNC_TROUBLE):
                await node.disconnect()

    def _nodes(self) -> list[Any]:
        manager = self.client.nodes_manager
        # Those of the same name may be different objects.
        return [*manager.nodes_cache.values(), *manager.startup_nodes.values()]


class ClusterLink:
    """A cluster, by the addresses of some of its nodes. Connects on first use."""

    def __init__(self, url: str, namespace: str = "") -> None:
        parts = urlsplit(url)
        login, at, hosts = parts.netloc.rpartition("@")
        places = [_place(url, f"{login}{at}{host}") for host in hosts.split(",")]
        if places[0].db or places[0].replicas:
            raise unusable(url, "a cluster has no db= and no replicas=")
        self._seeds = [place.hosts[0] for place in places]
        self._options = {
            **NAMED,
            **_DEFAULTS,
            **places[0].options,
            **({"ssl": True} if parts.scheme == "rediss+cluster" else {}),
        }
        self.url = f"{parts.scheme}://{','.join(f'{host}:{port}' for host, port in self._seeds)}"
        self._patience = patience(self._options["socket_timeout"])
        self._sync: Any = None
        self._async = PerLoop(self._new_loop_client, Side.aclose)
        self.channels = Channels(namespace)
        self.subscriptions = PerLoop(self._new_subscription, Subscription.aclose)
        self.lifetime = Lifetime()
        self._making = Lock()
        tell_of_forks(self)

    def forked(self) -> None:
        """After a fork: the thread that held the lock does not exist here."""
        self._making = Lock()

    @property
    def client(self) -> Any:
        """The client for sync code. The first use connects."""
        with self._making:
            if self._sync is None:
                self.lifetime.check()
                self._sync = _Sync(
                    startup_nodes=[_SyncNode(*seed) for seed in self._seeds],
                    retry=Retry(NoBackoff(), 0),
                    **self._options,
                )
            return self._sync

    def here(self) -> Side:
        """What the async code of this event loop asks with."""
        return self._async.here()

    def _new_loop_client(self) -> Side:
        self.lifetime.check()
        nodes = [_AsyncNode(*seed) for seed in self._seeds]
        client = _Async(startup_nodes=nodes, retry=AsyncRetry(NoBackoff(), 0), **self._options)
        kind = renewing(client.connection_kwargs["connection_class"])
        client.connection_kwargs["connection_class"] = kind  # of nodes that it finds
        for node in client.nodes_manager.startup_nodes.values():
            node.connection_class = kind
        return Side(client)

    def _new_subscription(self) -> Subscription:
        self.lifetime.check()
        return Subscription(self._any_aclient, self.channels)

    def any_client(self) -> Any:
        """A client of a random node, which may be silent for long. Nodes pass on what is published on the others."""
        try:
            return self.place_of(random.choice(self.client.get_primaries())).client(waits=True)
        except TROUBLE as error:
            raise exceptions.ConnectionError(str(error)) from error

    async def _any_aclient(self) -> Any:
        client = self.here().client
        try:
            await client.initialize()
            return self.place_of(random.choice(client.get_primaries())).aclient(waits=True)
        except ASYNC_TROUBLE as error:
            raise exceptions.ConnectionError(str(error)) from error

    def place_of(self, node: Any) -> Place:
        options = {name: value for name, value in self._options.items() if name != "ssl"}
        scheme = "rediss" if "ssl" in self._options else "redis"
        return Place(scheme, ((node.host, node.port),), options=options)

    def exchange(self, requests: Sequence[Request], *, hasty: bool = False) -> list[Any]:
        """Send all requests to their nodes at once. Returns the replies in order, errors among them.

        A caller that is `hasty` asks again soon, and would rather have an error now than keep the other nodes waiting.
        """
        ends, pauses, silent = self._ends(hasty), () if hasty else _PAUSES, set[int]()
        try:
            if len(requests) == 1 and not hasty:
                return [self._one(*requests[0], ends, pauses)]
            replies = at_once(self.client, requests, self._within(hasty))
            if hasty:
                silent = left_silent(self.client, requests, replies)
        except TROUBLE as error:
            replies = [_plain(error)] * len(requests)
        return [
            self._one(*request, ends, pauses, reply) if _again(reply) and number not in silent else reply
            for number, (request, reply) in enumerate(zip(requests, replies, strict=True))
        ]

    def _ends(self, hasty: bool) -> float:
        return time.monotonic() + (_HASTE + _MOMENT if hasty else self._patience)

    def _within(self, hasty: bool) -> float:
        usual = float(self._options["socket_timeout"])
        return min(_HASTE, usual) if hasty else usual

    def _one(
        self, key: str, command: Sequence[Any], ends: float, pauses: Sequence[float], reply: Any = _NOT_ASKED
    ) -> Any:
        for number in count():
            pause = _pause_before(number, pauses, ends, reply)
            if pause is None:
                break
            time.sleep(pause)
            try:
                return self.client.execute_command(*command, **_to(self.client, key, command))
            except TROUBLE as error:
                reply = _plain(error)
            if not _again(reply):
                break
        return reply

    async def aexchange(self, side: Side, requests: Sequence[Request], *, hasty: bool = False) -> list[Any]:
        """`exchange` for async code."""
        ends, pauses, waits = self._ends(hasty), () if hasty else _PAUSES, side.room.locked()
        async with side.room:
            if waits and time.monotonic() >= ends:
                return [exceptions.TimeoutError("others got no answer")] * len(requests)
            return await self._aexchanged(side.client, requests, ends, pauses, hasty=hasty)

    async def _aexchanged(
        self, client: Any, requests: Sequence[Request], ends: float, pauses: Sequence[float], *, hasty: bool
    ) -> list[Any]:
        silent = set[int]()
        try:
            if len(requests) == 1 and not hasty:
                return [await self._aone(client, *requests[0], ends, pauses)]
            replies = await aat_once(await _knowing(client), requests, self._within(hasty) if hasty else None)
            if hasty:
                silent = await aleft_silent(client, requests, replies, _MOMENT)
            replies = list(map(_plain, replies))
        except ASYNC_TROUBLE as error:
            replies = [_plain(error)] * len(requests)
        return [
            await self._aone(client, *request, ends, pauses, reply) if _again(reply) and number not in silent else reply
            for number, (request, reply) in enumerate(zip(requests, replies, strict=True))
        ]

    async def _aone(
        self,
        client: Any,
        key: str,
        command: Sequence[Any],
        ends: float,
        pauses: Sequence[float],
        reply: Any = _NOT_ASKED,
    ) -> Any:
        for number in count():
            pause = _pause_before(number, pauses, ends, reply)
            if pause is None:
                break
            if pause:
                await anyio.sleep(pause)
            try:
                if pauses and number < _DIRECTLY and _may_be_there(reply):
                    return await self.directly(client, key, command)
                await client.initialize()
                return await client.execute_command(*command, **_to(client, key, command))
            except ASYNC_TROUBLE as error:
                reply = _plain(error)
            if not _again(reply):
                break
        return reply

    async def directly(self, client: Any, key: str, command: Sequence[Any]) -> Any:
        """Ask a key's node, as far as an async client knows it."""
        client = await _knowing(client)
        node = client.get_node_from_key(key)
        async with used(client, node):
            return await node.execute_command(*command)

    def close(self) -> None:
        client = None
        with self.lifetime.ending() as ends:
            if ends:
                client, self._sync = self._sync, None
                for each in (self.subscriptions, self._async):
                    each.end_soon()
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        with self.lifetime.ending() as ends:
            of_loops = [each.take_away() for each in (self.subscriptions, self._async)] if ends else []
        await end_all(self.close, *of_loops)


def _place(url: str, netloc: str) -> Place:
    """Reads a cluster's URL with one of its hosts, like the URL of a single server."""
    parts = urlsplit(url)
    return read_place(urlunsplit(parts._replace(scheme=parts.scheme.removesuffix("+cluster"), netloc=netloc)))


def _to(client: Any, key: str, command: Sequence[Any]) -> dict[str, Any]:
    return {"target_nodes": client.get_node_from_key(key)} if command[0] in _KEYLESS else {}


async def _knowing(client: Any) -> Any:
    """An async client that knows the cluster's layout. Once a node has failed, the client itself would first read the
    layout again, which takes seconds if it asks a silent node. Requests to other nodes must not wait for that."""
    return client if client.nodes_manager.slots_cache else await client.initialize()


def _pause_before(number: int, pauses: Sequence[float], ends: float, reply: Any) -> float | None:
    """How long to wait before an attempt. None if there is to be none: after the usual ones there are more only while a
    slot moves, as the last reply says, and for nobody who is in haste (and so has no pauses)."""
    if reply is not _NOT_ASKED and time.monotonic() >= ends:
        return None
    usual = (0.0, *pauses)
    if number < len(usual):
        return usual[number]
    return _MOVING_PAUSE if pauses and _moves(reply) else None


def _moves(reply: Any) -> bool:
    """Whether this is said of a slot that moves."""
    moving = exceptions.AskError | exceptions.MovedError | exceptions.TryAgainError
    return isinstance(reply, moving) or type(reply) is exceptions.ClusterError  # the client has been sent to and fro


def _may_be_there(reply: Any) -> bool:
    """Whether a node whose last reply this is may be alive, and only its connection was lost, as when the client closes
    all of them."""
    return reply is _NOT_ASKED or isinstance(reply, exceptions.ConnectionError)


def _plain(error: Any) -> Any:
    """The error that an error of the client wraps. Other errors are returned as they are."""
    if isinstance(error, exceptions.RedisClusterException) and isinstance(error.__cause__, Exception):
        return error.__cause__
    return exceptions.ConnectionError("the connection was closed") if isinstance(error, CLOSED) else error


def _again(reply: Any) -> bool:
    """Whether to send a request once more, alone, so that the client looks for its node's new address."""
    refused = isinstance(reply, exceptions.ResponseError) and not isinstance(
        reply, exceptions.MovedError | exceptions.AskError | exceptions.ClusterDownError | exceptions.TryAgainError
    )
    return isinstance(reply, Exception) and not refused
