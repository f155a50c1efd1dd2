"""The Redis store: every operation is one script, called by EVALSHA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

import redis
import redis.asyncio
from anyio import to_thread
from redis import exceptions

from ...contracts.errors import BadSetup, BatonpassError, Overloaded, Unreachable
from ..commands import Command
from ..rows import SCHEMA_VERSION
from ..store import Topic, Watch
from .scripts import Script, script
from .server import check_server
from .watch import RedisWatch
from .wire import answer, arguments

R = TypeVar("R")
# The client library is typed in part only.
_Sync: Any = redis.Redis
_Async: Any = redis.asyncio.Redis
_TROUBLE = (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ResponseError, OSError)


class RedisStore:
    """A namespace on a Redis server. `client_url` goes to the client library as it is, `scripts` finds a script."""

    def __init__(self, client_url: str, namespace: str, *, scripts: Callable[[str], Script] = script) -> None:
        self._client_url = client_url
        self._namespace = namespace
        self._scripts = scripts
        # Everything of a partition carries one hash tag, so that its scripts stay in one slot of a cluster.
        self.prefix = f"bp:{{{quote(namespace, safe='')}:0}}:"
        try:
            self._sync: Any = _Sync.from_url(client_url)
            self._async: Any = _Async.from_url(client_url)
        except ValueError as error:
            raise BadSetup(f"store URL {client_url!r} can't be used: {error}") from None
        where = self._sync.get_connection_kwargs()
        self.url = f"redis://{where.get('host', 'localhost')}:{where.get('port', 6379)}/{where.get('db', 0)}"

    def call(self, command: Command[R]) -> R:
        """Carry a command out: one round trip."""
        name, argv = arguments(command)
        known = self._scripts(name)
        try:
            try:
                reply: Any = self._sync.execute_command("EVALSHA", known.sha, 1, self.prefix, *argv)
            except exceptions.NoScriptError:
                reply = self._sync.execute_command("EVAL", known.source, 1, self.prefix, *argv)
        except _TROUBLE as error:
            raise self._failure(error) from error
        return answer(command, reply)

    async def acall(self, command: Command[R]) -> R:
        """`call` for async code."""
        name, argv = arguments(command)
        known = self._scripts(name)
        try:
            try:
                reply: Any = await self._async.execute_command("EVALSHA", known.sha, 1, self.prefix, *argv)
            except exceptions.NoScriptError:
                reply = await self._async.execute_command("EVAL", known.source, 1, self.prefix, *argv)
        except _TROUBLE as error:
            raise self._failure(error) from error
        return answer(command, reply)

    def _failure(self, error: Exception) -> BatonpassError:
        """The client's error in our words."""
        if isinstance(error, exceptions.AuthenticationError):
            return BadSetup(f"{self.url} refused the login: {error}")
        if isinstance(error, exceptions.NoPermissionError):
            return BadSetup(f"{self.url}: the user may not do what Batonpass needs (~bp:* &bp:* +@all): {error}")
        if not isinstance(error, exceptions.ResponseError):
            return Unreachable(f"no Redis at {self.url}: {_first_line(error)}")
        text = str(error)
        if "OOM" in text or isinstance(error, exceptions.OutOfMemoryError):
            return Overloaded(f"{self.url} is out of memory: nothing was written, free some and try again")
        if text.startswith(("MISCONF", "BUSY", "LOADING", "READONLY")):
            return Overloaded(f"{self.url} can't write now: {_first_line(error)}")
        return Unreachable(f"{self.url} answered with an error: {_first_line(error)}")

    async def acall_after(self, watch: Watch, timeout: float, command: Command[R]) -> R:
        """Wait, then carry a command out: the server does both, and answers once."""
        assert isinstance(watch, RedisWatch)
        name, argv = arguments(command)
        reply = await watch.await_reply(timeout, "EVALSHA", self._scripts(name).sha, 1, self.prefix, *argv)
        return await self.acall(command) if reply is None else answer(command, reply)

    def watch(self, topic: Topic) -> RedisWatch:
        """Wakes by pub/sub, or by a blocking pop for deliveries so that one delivery wakes one worker."""
        return RedisWatch(self._client_url, self.prefix, topic)

    def sibling(self) -> RedisStore:
        """Other connections to the same server."""
        return RedisStore(self._client_url, self._namespace, scripts=self._scripts)

    def open(self) -> None:
        """Connect; check the server and the namespace."""
        try:
            with self._sync.pipeline(transaction=False) as pipe:
                pipe.info("everything")
                pipe.set(f"{self.prefix}schema", SCHEMA_VERSION, nx=True)
                pipe.get(f"{self.prefix}schema")
                pipe.publish(f"{self.prefix}live:", "")  # a user may lack channels, and would never be woken
                info, _, schema, _ = pipe.execute()
        except TypeError as error:  # how the client says that it does not know an option of the URL
            raise BadSetup(f"store URL {self._client_url!r} can't be used: {_first_line(error)}") from None
        except _TROUBLE as error:
            raise self._failure(error) from error
        check_server(info, schema, self.url)

    async def aopen(self) -> None:
        await to_thread.run_sync(self.open)

    def close(self) -> None:
        self._sync.close()

    async def aclose(self) -> None:
        self._sync.close()
        await self._async.aclose()


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
