"""The Redis store: every operation is one script, called by EVALSHA."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Callable, Generator, Sequence
from secrets import token_hex
from time import monotonic
from typing import Any, TypeVar, cast

from anyio import to_thread
from redis import exceptions

from ...contracts.errors import BadSetup, BatonpassError, Unconfirmed
from ..checkup import Examined, Load
from ..coded.codec import Codec
from ..commands import AckEvents, Claim, Command, Complete, Heartbeat, ReadSpans, Reap, TakeEvents
from ..loops import PerLoop
from ..operations import READING
from ..rows import SCHEMA_VERSION
from ..store import KEPT_EVENTS, Topic, Watch
from .checkup import counting, examining
from .failures import failure, first_line, raise_first
from .going_on import GoOn, Unfinished
from .lines import AsyncLines, Lines
from .news import News
from .news_watch import NewsWatch
from .patience import asked, first_asked, over
from .place import TROUBLE, connected_by, prefix_of, read_place
from .scripts import Script, script
from .segments import READERS, filled, held_by, lacking, needed
from .server import check_namespace, check_server
from .side import MOST_CONNECTIONS, Side
from .together import Together
from .watch import QueueWatch
from .wire import answer, arguments, unfolded
from .witness import Witness

R = TypeVar("R")
# What is sent at once, and the replies to it. An error that the server answered with is among them.
_Calls = Generator[Sequence[tuple[Any, ...]], list[Any], R]
# What the client deals with: a server without the script, a connection that was lost. Commands may be sent twice.
_LOST = (exceptions.ConnectionError, exceptions.TimeoutError)
_ONCE_MORE = (exceptions.NoScriptError, *_LOST, OSError)
# How long replicas may take to confirm a write, in ms.
_CONFIRMED_WITHIN = 1000
# Commands whose loss costs a repetition at most: they are not worth waiting for replicas.
_REPEATABLE = READING | {AckEvents, Claim, Heartbeat, Reap, TakeEvents}


class RedisStore:
    """A namespace on a Redis server. `url` is as users write it, `scripts` finds a script."""

    codec: Codec | None = None
    kept_events = KEPT_EVENTS
    _is_whole = True  # and not one of a cluster's partitions

    def __init__(self, url: str, namespace: str, *, scripts: Callable[[str], Script] = script) -> None:
        self._given_url = url
        self._namespace = namespace
        self._scripts = scripts
        # Everything of a partition carries one hash tag, so that its scripts stay in one slot of a cluster.
        self.prefix = prefix_of(namespace, 0)
        self._place = read_place(url)
        self.url = self._place.url
        self._sync = self._place.client()
        self._lines = Lines(self._sync)
        self._async = PerLoop(self._new_side, Side.aclose)
        self._news = PerLoop(self._new_news, News.aclose)
        self._replicas = self._place.replicas
        self._witness = Witness(self.url)

    def _new_side(self) -> Side:
        client = self._place.aclient()
        lines = AsyncLines(client)
        ends = Together(lines, lambda: self._scripts("complete"), self.prefix)
        return Side(client, lines, ends, Semaphore(MOST_CONNECTIONS))

    def _new_news(self) -> News:
        async def find() -> Any:
            return self._place.aclient(waits=True)

        return News(find)

    def call(self, command: Command[R]) -> R:
        """Carry a command out: one round trip."""
        try:
            if isinstance(command, ReadSpans):
                return cast("R", self._run(self._spans(command)))
            began = monotonic()
            name, argv = arguments(command)
            if not self._replicas and not self._witness.due(command):
                try:
                    reply = self._lines.ask("EVALSHA", self._scripts(name).sha, 1, self.prefix, *argv)
                except _ONCE_MORE as error:
                    if over(began, self._place.patience):
                        raise
                    if isinstance(error, exceptions.TimeoutError):
                        self._lines.renew()
                else:
                    result = self._answer(command, reply)
                    if isinstance(result, Unfinished):
                        return cast("R", self._run(self._finished(result)))
                    keys = _lacks(command, result)
                    return self._run(self._filled(result, keys)) if keys else result
            with asked(began):
                return self._run(self._carefully(command, name, argv))
        except TROUBLE as error:
            raise self._failure(error) from error

    async def acall(self, command: Command[R]) -> R:
        """`call` for async code."""
        try:
            if isinstance(command, ReadSpans):
                return cast("R", await self._arun(self._spans(command)))
            began = monotonic()
            name, argv = arguments(command)
            if not self._replicas:
                try:
                    reply = await self._areply(command, name, argv)
                except _ONCE_MORE as error:
                    if over(began, self._place.patience):
                        raise
                    if isinstance(error, exceptions.TimeoutError):
                        await self._async.here().lines.renew()
                else:
                    result = self._answer(command, reply)
                    if isinstance(result, Unfinished):
                        return cast("R", await self._arun(self._finished(result)))
                    keys = _lacks(command, result)
                    return await self._arun(self._filled(result, keys)) if keys else result
            with asked(began):
                return await self._arun(self._carefully(command, name, argv))
        except TROUBLE as error:
            raise self._failure(error) from error

    async def _areply(self, command: Command[Any], name: str, argv: Sequence[Any]) -> Any:
        """The reply to a command, with a look at the store behind it if it is time for one."""
        side = self._async.here()
        looks = self._witness.due(command)
        if not looks and type(command) is Complete and command.checkpoint is None:
            return await side.ends.ask(argv)
        sent = ("EVALSHA", self._scripts(name).sha, 1, self.prefix, *argv)
        if not looks:
            return await side.lines.ask(*sent)
        reply, seen = await side.lines.ask_all(sent, self._look("EVALSHA"))
        if isinstance(reply, Exception):
            raise reply
        await self._arun(self._learn(seen))
        return reply

    def _answer(self, command: Command[R], reply: Any) -> R:
        reply = unfolded(reply)
        if reply[0] != b"+":
            self._witness.refused(command, reply)
        return answer(command, reply)

    def _whole(self, result: R) -> _Calls[R]:
        """The result of a command in READERS with what its script left to be read."""
        keys = lacking(result)
        return (yield from self._filled(result, keys)) if keys else result

    def _filled(self, result: R, keys: Sequence[str]) -> _Calls[R]:
        return filled(result, (yield from self._segments(keys)))

    def _segments(self, keys: Sequence[str]) -> _Calls[dict[str, bytes | None]]:
        [values] = yield [("MGET", *(self.prefix + key for key in keys))]
        if isinstance(values, Exception):
            raise values
        return dict(zip(keys, values, strict=True))

    def _spans(self, command: ReadSpans) -> _Calls[list[bytes]]:
        keys = needed(command.spans)
        return list(held_by(command.spans, (yield from self._segments(keys)))) if keys else []

    def _carefully(self, command: Command[R], name: str, argv: Sequence[Any]) -> _Calls[R]:
        """A command with all that it may need: scripts, replicas that confirm, a look at the store."""
        result = yield from self._once(command, name, argv)
        return cast("R", (yield from self._finished(result))) if isinstance(result, Unfinished) else result

    def _finished(self, piece: Unfinished) -> _Calls[Any]:
        answer: Any = piece
        while isinstance(answer, Unfinished):
            answer = answer.joined((yield from self._once(answer.next, *arguments(answer.next))))
        return answer

    def _once(self, command: Command[R], name: str, argv: Sequence[Any]) -> _Calls[R]:
        """What `_carefully` does with one script, which may not come to an end."""
        kind = type(command.asked if isinstance(command, GoOn) else command)
        confirmed = self._replicas if kind not in _REPEATABLE else 0
        looks = self._witness.due(command)
        then = [*(self._confirming() if confirmed else []), *([self._look("EVALSHA")] if looks else [])]
        reply, *rest = yield from self._script(self._scripts(name), argv, then)
        if looks:
            yield from self._learn(rest.pop())
        result: Any = self._answer(command, reply)
        if kind in READERS and not isinstance(result, Unfinished):
            result = yield from self._whole(result)
        if confirmed:
            count = rest.pop()
            if isinstance(count, Exception):
                raise count
            if count < confirmed:
                raise Unconfirmed(
                    f"{self.url} kept it, but only {count} of {confirmed} replica(s) confirmed within "
                    f"{_CONFIRMED_WITHIN / 1000:g} s: a failover now could lose it, do the same again"
                )
        return cast("R", result)

    def _learn(self, seen: Any) -> _Calls[None]:
        """Take what a look has seen. The server may have to be sent its script."""
        if isinstance(seen, exceptions.NoScriptError):
            [seen] = yield [self._look("EVAL")]
        if not isinstance(seen, Exception):
            self._witness.learn(*seen[1:])

    def _script(self, known: Script, argv: Sequence[Any], then: list[tuple[Any, ...]]) -> _Calls[list[Any]]:
        """A script and other commands at once; its reply and theirs. The server may have to be sent the script."""
        replies = yield [("EVALSHA", known.sha, 1, self.prefix, *argv), *then]
        if isinstance(replies[0], exceptions.NoScriptError):
            replies = yield [("EVAL", known.source, 1, self.prefix, *argv), *then]
        if isinstance(replies[0], Exception):
            raise replies[0]
        return replies

    def _confirming(self) -> list[tuple[Any, ...]]:
        """WAIT is about the connection's own last write. A retry may come by another connection and write nothing: so
        something that replicas get is sent before it."""
        return [("PUBLISH", f"{self.prefix}sync", ""), ("WAIT", self._replicas, _CONFIRMED_WITHIN)]

    def _look(self, how: str) -> tuple[Any, ...]:
        witness = self._scripts("store/witness")
        return (how, witness.sha if how == "EVALSHA" else witness.source, 1, self.prefix, *self._witness.question())

    def _run(self, calls: _Calls[R]) -> R:
        try:
            sent = next(calls)
            while True:
                sent = calls.send(self._sent(sent))
        except StopIteration as end:
            result: R = end.value
            return result

    def _sent(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        began = first_asked()
        try:
            return self._piped(commands)
        except _LOST:
            if not self._place.service or over(began, self._place.patience):
                raise
        self._lines.renew()  # another server may be the master now
        return self._piped(commands)

    def _piped(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        with self._sync.pipeline(transaction=False) as pipe:
            for command in commands:
                pipe.execute_command(*command)
            replies: list[Any] = pipe.execute(raise_on_error=False)
            return replies

    async def _arun(self, calls: _Calls[R]) -> R:
        try:
            sent = next(calls)
            while True:
                sent = calls.send(await self._asent(sent))
        except StopIteration as end:
            result: R = end.value
            return result

    async def _asent(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        began, patience, side = first_asked(), self._place.patience, self._async.here()
        try:
            return await side.piped(commands, began, patience)
        except _LOST:
            if not self._place.service or over(began, patience):
                raise
        await side.lines.renew()
        return await side.piped(commands, began, patience)

    def _failure(self, error: Exception) -> BatonpassError:
        """The client's error in our words."""
        self._witness.hurry()
        return failure(error, self.url)

    async def acall_after(self, watch: Watch, timeout: float, command: Command[R]) -> R:
        """Wait, then carry a command out: the server does both, and answers once."""
        assert isinstance(watch, QueueWatch)
        name, argv = arguments(command)
        reply = await watch.await_reply(timeout, "EVALSHA", self._scripts(name).sha, 1, self.prefix, *argv)
        if reply is None:
            return await self.acall(command)
        result = self._answer(command, reply)
        keys = _lacks(command, result)
        return await self._arun(self._filled(result, keys)) if keys else result

    def watch(self, topic: Topic) -> Watch:
        """Wakes by pub/sub, or by a blocking pop for deliveries so that one delivery wakes one worker."""
        if topic.queues:
            return QueueWatch(self._place, self.prefix, topic.queues)
        return NewsWatch(
            f"{self.prefix}live:{topic.subject or '*'}", lambda: self._place.client(waits=True), self._news
        )

    def behind(self) -> None:
        """Nothing: what was answered is kept as it will be."""

    def sibling(self) -> RedisStore:
        """Other connections to the same server."""
        return RedisStore(self._given_url, self._namespace, scripts=self._scripts)

    def open(self) -> None:
        """Connect; check the server and the namespace, and make it if it is new."""
        try:
            with self._place.opening(self._sync):
                self._run(self._opening())
        except TypeError as error:  # how the client says that it does not know an option of the URL
            raise BadSetup(f"store URL of {self.url} can't be used: {first_line(error)}") from None
        except TROUBLE as error:
            raise self._failure(error) from error

    def _opening(self) -> _Calls[None]:
        schema, epoch, moved, partitions = (
            f"{self.prefix}{name}" for name in ("schema", "epoch", "moved", "partitions")
        )
        newest = ("XREVRANGE", f"{self.prefix}events", "+", "-", "COUNT", 1)
        # A user who lacks channels would never be woken. (One who may only read may not publish.)
        publish = ("PUBLISH", f"{self.prefix}live:", "")
        info, found, events, published = yield [
            ("INFO",), ("MGET", schema, epoch, moved, partitions), newest, publish
        ]  # fmt: skip
        raise_first((info, found, events))
        version, known, mark, count = found
        if isinstance(published, Exception) and "channel" in str(published):
            raise published
        check_namespace(mark, count if self._is_whole else None, self.url)
        if version is None or known is None:
            *made, version, known = yield [
                ("SET", schema, SCHEMA_VERSION, "NX"),
                ("SET", epoch, token_hex(8), "NX"),
                ("GET", schema),
                ("GET", epoch),
            ]
            if version is None:
                raise next(reply for reply in made if isinstance(reply, Exception))
        check_server(info, version, self.url, self._replicas)
        self._witness.learn(events[0][0] if events else b"0-0", known or b"")

    async def aopen(self) -> None:
        await to_thread.run_sync(self.open)

    def examine(self) -> Examined:
        """What the server and the namespace say of themselves. Opens, makes and changes nothing."""
        try:
            with self._place.opening(self._sync):
                return self._run(examining(self.prefix, self.url, whole=True, replicas=self._replicas))
        except TROUBLE as error:
            raise self._failure(error) from error

    def count(self, queues: Sequence[str]) -> Load:
        """How much lies in the namespace."""
        try:
            return self._run(counting(self.prefix, queues))
        except TROUBLE as error:
            raise self._failure(error) from error

    def close(self) -> None:
        self._lines.close()
        for client in connected_by(self._sync):
            client.close()

    async def aclose(self) -> None:
        self.close()
        await self._news.aclose()
        await self._async.aclose()


def _lacks(command: Command[Any], result: object) -> list[str]:
    """What a script has left of its result, to be read by plain commands."""
    return lacking(result) if type(command) in READERS else []
