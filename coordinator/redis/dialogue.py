"""Dialogue: what is said to a server about one namespace or partition, and what its replies mean. Sending it is left to
the caller."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from secrets import token_hex
from typing import Any, TypeVar, cast

from redis import exceptions

from ...contracts.errors import BadSetup, BatonpassError, Unconfirmed
from ..commands import READING, AckEvents, Claim, Command, Heartbeat, ReadSpans, Reap, TakeEvents
from .denial import Denial
from .failures import raise_first
from .going_on import GoOn, Unfinished
from .rights import Lacking, commands
from .scripts import Script
from .segments import READERS, filled, held_by, lacking, needed
from .server import SCHEMA_VERSION, check_namespace, check_server, is_replica
from .wire import answer, arguments, unfolded
from .witness import Witness

R = TypeVar("R")
# Commands sent at once, and the replies to them, errors of the server among them.
Calls = Generator[Sequence[tuple[Any, ...]], list[Any], R]
# How long replicas may take to confirm a write, in ms.
_CONFIRMED_WITHIN = 1000
# Losing the effect of one of these only means a repetition, so they don't wait for replicas.
_REPEATABLE = READING | {AckEvents, Claim, Heartbeat, Reap, TakeEvents}
# How often a cluster's partition is asked again for its master.
_FAILOVERS = 3


class Dialogue:
    """`prefix` begins all keys, `scripts` finds a script, `replicas` is how many must confirm a write."""

    _is_whole = True  # a whole namespace, not a partition of a cluster

    def __init__(
        self, url: str, prefix: str, scripts: Callable[[str], Script], denial: Denial, *, replicas: int = 0
    ) -> None:
        self.denial = denial
        self.url = url
        self.prefix = prefix
        self.scripts = denial.rights.checked(scripts, prefix)
        self.replicas = replicas
        self.witness = Witness(url)

    def asked(self, command: Command[R], name: str, argv: Sequence[Any]) -> Calls[R]:
        """Carry a command out, with everything that may take: sending scripts, replicas' confirmation, a witness."""
        result = yield from self._once(command, name, argv)
        return cast("R", (yield from self._finished(result))) if isinstance(result, Unfinished) else result

    def rest(self, command: Command[R], result: R) -> Calls[R] | None:
        """What is left to ask after a script's `answer`. None if that is the whole result, as it mostly is."""
        if isinstance(result, Unfinished):
            return self._finished(result)
        keys = lacking(result) if type(command) in READERS else []
        return self._filled(result, keys) if keys else None

    def _finished(self, piece: Unfinished) -> Calls[Any]:
        """Ask for the rest of a command whose script stopped early so as not to hold up others."""
        answer: Any = piece
        while isinstance(answer, Unfinished):
            answer = answer.joined((yield from self._once(answer.next, *arguments(answer.next))))
        return answer

    def _once(self, command: Command[R], name: str, argv: Sequence[Any]) -> Calls[R]:
        """As `asked`, for one run of a script, which may stop early."""
        kind = type(command.asked if isinstance(command, GoOn) else command)
        confirmed = self.replicas if kind not in _REPEATABLE else 0
        looks = self.witness.due(command)
        then = [*(self._confirming() if confirmed else []), *([self.look("EVALSHA")] if looks else [])]
        reply, *rest = yield from self._script((yield from self._permitted(name)), argv, then)
        if looks:
            yield from self.learn(rest.pop())
        result: Any = self.answer(command, reply)
        if kind in READERS and not isinstance(result, Unfinished):
            result = yield from self._whole(result)
        if confirmed:
            count = rest.pop()
            raise_first((count,))
            if count < confirmed:
                raise Unconfirmed(
                    f"{self.url} stored it, but only {count} of {confirmed} replica(s) confirmed within "
                    f"{_CONFIRMED_WITHIN / 1000:g} s: a failover now could lose it: repeat the call"
                )
        return cast("R", result)

    def _permitted(self, name: str) -> Calls[Script]:
        """A script that the user may run to its end. `Lacking` if there is none."""
        try:
            return self.scripts(name)
        except Lacking:
            [reply] = yield [self._rights()]
            self.denial.rights.learn(self.prefix, reply)
            return self.scripts(name)

    def _rights(self) -> tuple[Any, ...]:
        """The command that finds out what the user may not do."""
        return ("EVAL", self.scripts("store/rights").source, 1, self.prefix, *commands())

    def spans(self, command: ReadSpans) -> Calls[list[bytes]]:
        """Read pieces of logs, by plain commands."""
        keys = needed(command.spans)
        return list(held_by(command.spans, (yield from self._segments(keys)))) if keys else []

    def _script(self, known: Script, argv: Sequence[Any], then: list[tuple[Any, ...]]) -> Calls[list[Any]]:
        """A script, and other commands at once; its reply and theirs. Sends the script if the server lacks it."""
        replies = yield [("EVALSHA", known.sha, 1, self.prefix, *argv), *then]
        if isinstance(replies[0], exceptions.NoScriptError):
            replies = yield [("EVAL", known.source, 1, self.prefix, *argv), *then]
        raise_first(replies[:1])
        return replies

    def answer(self, command: Command[R], reply: Any) -> R:
        """What a script's reply means; raises what it refused. `rest` tells what it still lacks."""
        self.denial.since = None
        reply = unfolded(reply)
        if reply[0] != b"+":
            self.witness.refused(reply)
        return answer(command, reply)

    def _whole(self, result: R) -> Calls[R]:
        """The result of a command in READERS, with what its script left for plain commands to read."""
        keys = lacking(result)
        return (yield from self._filled(result, keys)) if keys else result

    def _filled(self, result: R, keys: Sequence[str]) -> Calls[R]:
        """A result with what lies under `keys`."""
        return filled(result, (yield from self._segments(keys)))

    def _segments(self, keys: Sequence[str]) -> Calls[dict[str, bytes | None]]:
        [values] = yield [("MGET", *(self.prefix + key for key in keys))]
        raise_first((values,))
        return dict(zip(keys, values, strict=True))

    def _confirming(self) -> list[tuple[Any, ...]]:
        """Wait for the replicas. WAIT is about the connection's own last write, and a retry may come over another
        connection and write nothing, so something that replicas get is sent first."""
        return [("PUBLISH", f"{self.prefix}sync", ""), ("WAIT", self.replicas, _CONFIRMED_WITHIN)]

    def look(self, how: str) -> tuple[Any, ...]:
        """The command that finds out whether the store went back in time."""
        witness = self.scripts("store/witness")
        return (how, witness.sha if how == "EVALSHA" else witness.source, 1, self.prefix, *self.witness.question())

    def learn(self, seen: Any) -> Calls[None]:
        """Take in what `look` has seen. Sends its script if the server lacks it."""
        if isinstance(seen, exceptions.NoScriptError):
            [seen] = yield [self.look("EVAL")]
        if not isinstance(seen, Exception):
            self.witness.learn(*seen[1:])

    def opening(self, absent: BatonpassError | None = None) -> Calls[None]:
        """Check the server and the namespace. If it is new, make it, unless there is an error for that."""
        schema, epoch, moved, partitions = (
            f"{self.prefix}{name}" for name in ("schema", "epoch", "moved", "partitions")
        )
        # Others of this process may have it open: what they have seen is not forgotten, but compared.
        looks = self.witness.knows
        newest = self.look("EVALSHA") if looks else ("XREVRANGE", f"{self.prefix}events", "+", "-", "COUNT", 1)
        # A user without rights to the channels would never be woken. (A user who may only read may not publish.)
        publish = ("PUBLISH", f"{self.prefix}live:", "")
        info, found, events, published, lacking = yield from self._of_master(
            [("INFO",), ("MGET", schema, epoch, moved, partitions), newest, publish, self._rights()]
        )
        raise_first((info, found, *([] if looks else [events])))
        version, known, mark, count = found
        self.denial.rights.learn(self.prefix, lacking)
        if isinstance(published, Exception) and "channel" in str(published):
            raise published
        check_namespace(mark, count if self._is_whole else None, self.url)
        if version is None and absent is not None:
            raise absent
        if version is None or known is None:
            version, known = yield from self._made(schema, epoch)
        check_server(info, version, self.url, self.replicas)
        if looks:
            yield from self.learn(events)
        else:
            self.witness.learn(events[0][0] if events else b"0-0", known or b"")
        self.denial.let_in = True

    def _of_master(self, commands: Sequence[tuple[Any, ...]]) -> Calls[list[Any]]:
        """The replies to what opening asks, INFO first. A cluster's node that just became a replica answers that all
        the same. But what names a key it sends on to its new master, which the client knows then."""
        replies = yield commands
        for _ in range(0 if self._is_whole else _FAILOVERS):
            if isinstance(replies[0], Exception) or not is_replica(replies[0]):
                break
            replies = yield commands
        return replies

    def _made(self, schema: str, epoch: str) -> Calls[tuple[bytes, bytes | None]]:
        """Make the namespace, unless somebody else just has. Returns its schema's version and its epoch."""
        *made, version, known = yield [
            ("SET", schema, SCHEMA_VERSION, "NX"),
            ("SET", epoch, token_hex(8), "NX"),
            ("GET", schema),
            ("GET", epoch),
        ]
        if version is not None:
            return version, known
        error = next(reply for reply in made if isinstance(reply, Exception))
        if isinstance(error, exceptions.NoPermissionError):
            raise BadSetup(
                f"nothing is stored yet in this namespace of {self.url}, and the user may not begin it (as with "
                "reader.acl): let a worker or a client connect first. If there should be something, check the "
                "namespace (--namespace, ?namespace=)"
            )
        raise error

    def trouble(self, error: Exception) -> BatonpassError:
        """Our error for an error of the client."""
        self.witness.hurry()
        self.denial.rights.refused(self.prefix, error)
        return self.denial.failure(error, self.url)
