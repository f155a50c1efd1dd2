"""The Redis store: every operation is one script, called by EVALSHA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any, TypeVar, cast

from anyio import to_thread
from redis import exceptions

from ...contracts.errors import BadSetup
from ..checkup import Examined, Load, Shares
from ..closing import Closing, end_all
from ..coded.codec import Codec
from ..commands import Claim, Command, Complete, ReadSpans
from ..following import afollow, follow
from ..lifetime import Lifetime
from ..loops import PerLoop
from ..store import KEPT_EVENTS, Topic, Watch
from .channels import Channels
from .checkup import counting, examining, sharing
from .connections import AsyncConnection, Connections, piped
from .denial import Denial
from .dialogue import Dialogue
from .failures import first_line
from .loop_client import LoopClient
from .patience import asked, first_asked, over
from .place import TROUBLE, connected_by, prefix_of, read_place
from .pubsub_watch import PubSubWatch
from .rights import Lacking
from .scripts import Script, script
from .server import absent
from .subscription import Subscription
from .together import Together
from .watch import QueueWatch
from .wire import arguments

R = TypeVar("R")
# Errors after which a command is sent again: a server that lacks the script, a lost connection, rights to look at anew.
_LOST = (exceptions.ConnectionError, exceptions.TimeoutError)
_ONCE_MORE = (exceptions.NoScriptError, *_LOST, OSError, Lacking)


class RedisStore:
    """A namespace on a Redis server. `url` is as users write it, `scripts` finds a script, `begins` tells whether
    opening makes a namespace that is not there."""

    codec: Codec | None = None
    kept_events = KEPT_EVENTS

    def __init__(
        self,
        url: str,
        namespace: str,
        *,
        scripts: Callable[[str], Script] = script,
        denial: Denial | None = None,
        begins: bool = True,
    ) -> None:
        self._given_url = url
        self.namespace = namespace
        self._given_scripts = scripts
        # All keys of a partition have the same hash tag, so that a script stays in one slot of a cluster.
        self.prefix = prefix_of(namespace, 0)
        self._place = read_place(url)
        self.url = self._place.url
        self._absent = None if begins else absent(namespace, self.url)
        self._sync = self._place.client()
        self.lifetime = Lifetime()
        self._connections = Connections(self._sync, self.lifetime)
        self._async = PerLoop(self._new_loop_client, LoopClient.aclose)
        self._channels = Channels(namespace)
        self._subscriptions = PerLoop(self._new_subscription, Subscription.aclose)
        self._denial = denial or Denial(self.url)
        self._dialogue = Dialogue(self.url, self.prefix, scripts, self._denial, replicas=self._place.replicas)
        self._scripts = self._dialogue.scripts

    def _new_loop_client(self) -> LoopClient:
        self.lifetime.check()
        client = self._place.aclient()
        connection = AsyncConnection(client)
        ends = Together(connection, lambda: self._given_scripts("complete"), self.prefix)
        return LoopClient(client, connection, ends)

    def _new_subscription(self) -> Subscription:
        self.lifetime.check()

        async def find() -> Any:
            return self._place.aclient(waits=True)

        return Subscription(find, self._channels)

    def call(self, command: Command[R]) -> R:
        """Carry a command out: one round trip."""
        try:
            if isinstance(command, ReadSpans):
                return cast("R", follow(self._dialogue.spans(command), self._sent))
            began = monotonic()
            name, argv = arguments(command)
            if not self._dialogue.replicas and not self._dialogue.witness.due(command):
                try:
                    reply = self._connections.ask("EVALSHA", self._scripts(name).sha, 1, self.prefix, *argv)
                except _ONCE_MORE as error:
                    if over(began, self._place.patience):
                        raise
                    if isinstance(error, exceptions.TimeoutError):
                        self._connections.renew()
                else:
                    result = self._dialogue.answer(command, reply)
                    rest = self._dialogue.rest(command, result)
                    return follow(rest, self._sent) if rest is not None else result
            with asked(began):
                return follow(self._dialogue.asked(command, name, argv), self._sent)
        except TROUBLE as error:
            raise self._dialogue.trouble(error) from error

    async def acall(self, command: Command[R]) -> R:
        """`call` for async code."""
        try:
            async with self._async.here() as side:
                return await self._acarried_out(side, command)
        except TROUBLE as error:
            raise self._dialogue.trouble(error) from error

    async def _acarried_out(self, side: LoopClient, command: Command[R]) -> R:
        sent = partial(self._asent, side)
        if isinstance(command, ReadSpans):
            return cast("R", await afollow(self._dialogue.spans(command), sent))
        began = monotonic()
        name, argv = arguments(command)
        if not self._dialogue.replicas:
            try:
                reply = await self._areply(side, command, name, argv)
            except _ONCE_MORE as error:
                if over(began, self._place.patience):
                    raise
                if isinstance(error, exceptions.TimeoutError):
                    await side.connection.renew()
            else:
                return await self._awhole(command, reply, side)
        with asked(began):
            return await afollow(self._dialogue.asked(command, name, argv), sent)

    async def _awhole(self, command: Command[R], reply: Any, side: LoopClient | None = None) -> R:
        """What a reply means, with what is left to ask."""
        result = self._dialogue.answer(command, reply)
        rest = self._dialogue.rest(command, result)
        if rest is None:
            return result
        async with side or self._async.here() as used:
            return await afollow(rest, partial(self._asent, used))

    async def _areply(self, side: LoopClient, command: Command[Any], name: str, argv: Sequence[Any]) -> Any:
        """The reply to a command. Also looks whether the store went back in time, if it is time for that."""
        looks = self._dialogue.witness.due(command)
        sent = ("EVALSHA", self._scripts(name).sha, 1, self.prefix, *argv)
        if not looks and type(command) is Complete and command.checkpoint is None:
            return await side.ends.ask(argv)
        if not looks:
            # So the server works on a claim while this turn still runs the agents of another one. If both claims were
            # sent at the end of the turn, both would be answered at once, and worker and server would wait in turns.
            if at_once := type(command) is Claim:
                side.ends.send()
            return await side.connection.ask(*sent, at_once=at_once)
        reply, seen = await side.connection.ask_all(sent, self._dialogue.look("EVALSHA"))
        if isinstance(reply, Exception):
            raise reply
        await afollow(self._dialogue.learn(seen), partial(self._asent, side))
        return reply

    def _sent(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        began = first_asked()
        try:
            return self._piped(commands)
        except _LOST:
            if not self._place.service or over(began, self._place.patience):
                raise
        self._connections.renew()  # another server may be the master now
        return self._piped(commands)

    def _piped(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        self.lifetime.check()
        try:
            return piped(self._sync, commands)
        finally:
            if self.lifetime.over:  # it was closed meanwhile
                self.close()

    async def _asent(self, side: LoopClient, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        began, patience = first_asked(), self._place.patience
        try:
            return await side.piped(commands, began, patience)
        except _LOST:
            if not self._place.service or over(began, patience):
                raise
        await side.connection.renew()  # another server may be the master now
        return await side.piped(commands, began, patience)

    async def acall_after(self, watch: Watch, timeout: float, command: Command[R]) -> R:
        """Wait, then carry a command out. The server does both, and replies once."""
        assert isinstance(watch, QueueWatch)
        name, argv = arguments(command)
        try:
            sha = self._scripts(name).sha
        except Lacking:
            return await self.acall(command)
        reply = await watch.await_reply(timeout, "EVALSHA", sha, 1, self.prefix, *argv)
        if reply is None:
            return await self.acall(command)
        return await self._awhole(command, reply)

    def watch(self, topic: Topic) -> Watch:
        """Wakes by pub/sub. For deliveries by a blocking pop, so that one delivery wakes one worker."""
        self.lifetime.check()
        if topic.queues:
            return QueueWatch(self._place, self.prefix, topic.queues)
        channel = self._channels.of(topic.subject, 0)
        return PubSubWatch(channel, self._channels, lambda: self._place.client(waits=True), self._subscriptions)

    def behind(self) -> None:
        """Nothing: what was answered is already stored."""

    def sibling(self) -> RedisStore:
        """Other connections to the same server."""
        return RedisStore(self._given_url, self.namespace, scripts=self._given_scripts, denial=self._denial)

    def open(self) -> None:
        """Connect; check the server and the namespace, and make it if it is new and this store may."""
        try:
            with self._place.opening():
                follow(self._dialogue.opening(self._absent), self._sent)
        except TypeError as error:  # the client's way to say that it does not know an option of the URL
            raise BadSetup(f"store URL of {self.url} can't be used: {first_line(error)}") from None
        except TROUBLE as error:
            raise self._dialogue.trouble(error) from error

    async def aopen(self) -> None:
        await to_thread.run_sync(self.open)

    def examine(self) -> Examined:
        """What the server and the namespace report about themselves. Makes and changes nothing."""
        try:
            with self._place.opening():
                return follow(
                    examining(self.prefix, self.url, whole=True, replicas=self._dialogue.replicas), self._sent
                )
        except TROUBLE as error:
            raise self._dialogue.trouble(error) from error

    def count(self, queues: Sequence[str]) -> Load:
        """How much is in the namespace."""
        try:
            return follow(counting(self.prefix, queues), self._sent)
        except TROUBLE as error:
            raise self._dialogue.trouble(error) from error

    def by_agent(self) -> Shares:
        """The jobs of each kind by their agents."""
        try:
            return follow(sharing(self.prefix), self._sent)
        except TROUBLE as error:
            raise self._dialogue.trouble(error) from error

    def close(self) -> None:
        """Close what is idle. What is in use its user closes: the client library trips over a connection that another
        thread closes meanwhile, with a TypeError, say."""
        with self.lifetime.ending() as ends:
            for each in (self._subscriptions, self._async) if ends else ():
                each.end_soon()
        with Closing() as ending:
            with ending.part():
                self._connections.close()
            for client in connected_by(self._sync):
                with ending.part():
                    client.connection_pool.disconnect(inuse_connections=False)

    async def aclose(self) -> None:
        with self.lifetime.ending() as ends:
            of_loops = [each.take_away() for each in (self._subscriptions, self._async)] if ends else []
        await end_all(self.close, *of_loops)
