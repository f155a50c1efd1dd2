"""Partition: the dialogue with one partition of a cluster: scripts to run, and what their replies mean."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, TypeVar, cast

from ...contracts.errors import BatonpassError
from ..commands import Command, ReadSpans
from .checkup import counting, examining, sharing
from .cluster_link import TROUBLE
from .cluster_pieces import Request
from .dialogue import Calls, Dialogue
from .failures import raise_first
from .partitions_plan import Filled, Note, Ready, Ring, Used
from .server import number_of
from .wire import arguments, filled, unfolded

R = TypeVar("R")
# How long a wake-up is kept, in ms, for a worker that is just about to wait.
_RING_KEPT = 10_000
# A note about an idempotency key is kept longer than the key, by more than a job should take (ms). And how long after
# the note its job may take to appear (ms): a client that dies before it made the job must not keep the key.
NOTE_KEPT, _NOTE_FRESH = 30 * 86_400_000, 30_000


class Partition(Dialogue):
    """The dialogue with a partition of a cluster's store."""

    _is_whole = False

    def carried(self, command: Command[Any]) -> Calls[Any]:
        """Carry a command out on this partition."""
        if isinstance(command, Ready):
            return self._own("store/ready", command.queues, list)
        if isinstance(command, Ring):
            return self._own(
                "store/ring", (command.queue, command.partition, command.number, _RING_KEPT), lambda _: None
            )
        if isinstance(command, Note):
            about = (command.idem, command.job_id, command.payload_digest)
            times = (command.key_ttl + NOTE_KEPT, _NOTE_FRESH)
            return self._own("store/note", (*about, *times, command.void), _used)
        if isinstance(command, ReadSpans):
            return self.spans(command)
        return self.asked(command, *arguments(command))

    def answer(self, command: Command[R], reply: Any) -> R:
        reply = unfolded(reply)
        result = super().answer(command, reply)
        queues = filled(command, reply)
        return cast("R", Filled(result, queues)) if queues else result

    def _whole(self, result: R) -> Calls[R]:
        if isinstance(result, Filled):
            answer = yield from super()._whole(result.answer)
            return cast("R", Filled(answer, result.queues))
        return (yield from super()._whole(result))

    def _own(self, name: str, argv: Sequence[Any], read: Callable[[list[Any]], R]) -> Calls[R]:
        [[_, *reply]] = yield from self._script((yield from self._permitted(name)), argv, [])
        return read(reply)

    def examining(self) -> Calls[Any]:
        """What the node and the partition report about themselves."""
        return examining(self.prefix, self.url, whole=False, replicas=0)

    def counting(self, queues: Sequence[str]) -> Calls[Any]:
        """How much is in the partition."""
        return counting(self.prefix, queues)

    def sharing(self) -> Calls[Any]:
        """The jobs of each kind in the partition by their agents."""
        return sharing(self.prefix)

    def known(self) -> Calls[int]:
        """How many partitions the namespace has; 0 if it is new."""
        [known] = yield [("GET", f"{self.prefix}partitions")]
        raise_first((known,))
        return 0 if known is None else number_of("partitions", known, self.url)

    def counted(self, count: int, absent: BatonpassError | None) -> Calls[tuple[int, bool]]:
        """How many partitions the namespace has, and whether it is new: then it gets `count`, or there is an error for
        that. A namespace without the record was made on a single server."""
        schema, partitions = f"{self.prefix}schema", f"{self.prefix}partitions"
        known, made = yield [("GET", partitions), ("GET", schema)]
        if known is made is None and absent is not None:
            raise absent
        is_new = made is None
        if known is None:
            _, known = yield [("SET", partitions, 1 if made is not None else count, "NX"), ("GET", partitions)]
        raise_first((known, made))
        return number_of("partitions", known, self.url), is_new


def _used(reply: list[Any]) -> Used:
    job_id, payload, fresh = reply
    return Used(job_id.decode(), payload.decode(), bool(fresh))


class Requests(list[Request]):
    """What goes out at once, in haste or not."""

    def __init__(self, requests: Iterable[Request], *, hasty: bool) -> None:
        super().__init__(requests)
        self.hasty = hasty


def together(
    runs: Sequence[tuple[Partition, Calls[Any]]], *, hasty: bool = False
) -> Generator[Requests, list[Any], list[Any]]:
    """Run the dialogues with several partitions in step, so that what they send at the same time goes out at once.
    Returns the result of each, or the error that ended it."""
    outcomes: list[Any] = [None] * len(runs)
    sending: dict[int, Sequence[tuple[Any, ...]]] = {}

    def go_on(index: int, replies: list[Any] | None) -> None:
        partition, run = runs[index]
        try:
            sending[index] = next(run) if replies is None else run.send(replies)
        except StopIteration as end:
            outcomes[index] = end.value
        except BatonpassError as error:
            outcomes[index] = error
        except TROUBLE as error:
            outcomes[index] = partition.trouble(error)

    for index in range(len(runs)):
        go_on(index, None)
    while sending:
        sent, sending = sending, {}
        asked = ((runs[index][0].prefix, command) for index, commands in sent.items() for command in commands)
        replies = yield Requests(asked, hasty=hasty)
        for index, commands in sent.items():
            go_on(index, replies[: len(commands)])
            replies = replies[len(commands) :]
    return outcomes
