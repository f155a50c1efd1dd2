"""The store on a Redis Cluster: a namespace over several partitions, each in one slot."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from anyio import to_thread

from ...contracts.errors import BadSetup, Unreachable
from ...contracts.names import MAX_PARTITIONS, home
from ..checkup import Examined, Finding, Load, Shares, added, shares_added
from ..coded.codec import Codec
from ..commands import Claim, Command, Heartbeat, Reap
from ..following import afollow, follow
from ..store import KEPT_EVENTS, Topic, Watch
from ..urls import unusable, without_options
from .cancels import heeding
from .cluster_link import ClusterLink
from .cluster_partition import Partition, Requests, together
from .cluster_watch import DoorWatch
from .denial import Denial
from .dialogue import Calls
from .partitions import claim_at, plan
from .partitions_plan import Plan, Ready, Ring, good
from .place import prefix_of
from .private import CLOSED
from .pubsub_watch import PubSubWatch
from .scripts import Script, script
from .server import absent

R = TypeVar("R")
_Exchange = Generator[Requests, list[Any], R]
_log = logging.getLogger("batonpass.store")
DEFAULT_PARTITIONS = 16
# What is asked of several partitions, and soon again: one whose node is gone must not hold up the work in the others.
_HASTY = (Heartbeat, Ready, Ring)


class ClusterStore:
    """A namespace on a cluster. `url` is as users write it, `scripts` finds a script, `begins` tells whether opening
    makes a namespace that is not there."""

    codec: Codec | None = None
    kept_events = KEPT_EVENTS

    def __init__(
        self,
        url: str,
        namespace: str,
        *,
        scripts: Callable[[str], Script] = script,
        partitions: Sequence[Partition] = (),
        denial: Denial | None = None,
        begins: bool = True,
    ) -> None:
        options = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
        self._wanted = _partitions(url, options.get("partitions", "0"))
        self._given, self.namespace = (url, namespace), namespace
        self._scripts = scripts
        self._link = ClusterLink(without_options(url, "partitions"), namespace)
        self.lifetime = self._link.lifetime
        self._partitions = partitions
        self.url = self._link.url
        self._denial = denial or Denial(self.url)
        self._absent = None if begins else absent(namespace, self.url)

    def prefix(self, partition: int) -> str:
        """What every key of a partition begins with: its hash tag keeps them in one slot."""
        return prefix_of(self._given[1], partition)

    def call(self, command: Command[R]) -> R:
        """Carry a command out: one round trip to each of the partitions that it concerns, all at once."""
        return self._run(self._carried_out(plan(command, len(self._partitions))))

    async def acall(self, command: Command[R]) -> R:
        """`call` for async code."""
        return await self._arun(self._carried_out(plan(command, len(self._partitions))))

    async def acall_after(self, watch: Watch, timeout: float, command: Command[R]) -> R:
        """Wait, then carry a command out. A claim first goes where there is something."""
        await watch.await_(timeout)
        steps = plan(command, len(self._partitions))
        if isinstance(watch, DoorWatch) and isinstance(command, Claim) and (knock := watch.take()):
            steps = claim_at(command, knock)
        return await self._arun(self._carried_out(steps))

    def _carried_out(self, steps: Plan[R]) -> _Exchange[R]:
        """Carries a plan out, as requests to the cluster."""
        try:
            asks = next(steps)
            while True:
                runs = [(self._partitions[at], self._partitions[at].carried(command)) for at, command in asks]
                hasty = all(map(_is_hasty, (command for _, command in asks)))
                asks = steps.send((yield from together(runs, hasty=hasty)))
        except StopIteration as end:
            result: R = end.value
            return result

    def _run(self, exchange: _Exchange[R]) -> R:
        try:
            return follow(exchange, lambda requests: self._link.exchange(requests, hasty=requests.hasty))
        except CLOSED:  # by another thread, while this one was using it
            self.lifetime.check()
            raise

    async def _arun(self, exchange: _Exchange[R]) -> R:
        async with self._link.here() as side:
            return await afollow(
                exchange, lambda requests: heeding(self._link.aexchange(side, requests, hasty=requests.hasty))
            )

    def watch(self, topic: Topic) -> Watch:
        """A blocking pop at the doors in partition 0 for deliveries, else pub/sub through any node."""
        self.lifetime.check()
        if topic.queues:
            return DoorWatch(self._link, self.prefix(0), topic.queues)
        at = home(topic.subject) % len(self._partitions) if topic.subject else 0
        channel = self._link.channels.of(topic.subject, at)
        return PubSubWatch(channel, self._link.channels, self._link.any_client, self._link.subscriptions)

    def behind(self) -> None:
        """Nothing: what was answered is already stored."""

    def sibling(self) -> ClusterStore:
        """Other connections to the same cluster."""
        partitions = self._new_partitions(len(self._partitions))
        return ClusterStore(*self._given, scripts=self._scripts, partitions=partitions, denial=self._denial)

    def open(self) -> None:
        """Connect; check the nodes and the namespace, and make it if it is new and this store may. If it is not new, a
        node that is away keeps nobody from what is on the others."""
        count, is_new = self._run(self._counted())
        self._know(count)
        runs: list[tuple[Partition, Calls[Any]]] = [(each, each.opening()) for each in self._partitions]
        outcomes = self._run(together(runs, hasty=not is_new))
        away = [outcome for outcome in outcomes if isinstance(outcome, Unreachable)]
        spared = 0 < len(away) < count and not is_new
        good([outcome for outcome in outcomes if not (spared and isinstance(outcome, Unreachable))])
        if spared:
            _log.warning(
                "%d of %d partitions are away, and what is in them stands still: %s", len(away), count, away[0]
            )

    def examine(self) -> Examined:
        """What the nodes and partitions report, each thing once. Makes nothing."""
        [first] = self._new_partitions(1)
        [count] = good(self._run(together([(first, first.known())])))
        self._know(count or 1)
        runs: list[tuple[Partition, Calls[Any]]] = [(each, each.examining()) for each in self._partitions]
        examined: list[Examined] = good(self._run(together(runs)))
        said = dict.fromkeys(finding for each in examined for finding in each.findings)
        number = Finding("ok", "namespace", f"{count} partitions")
        return Examined((*said, *([number] if count else [])), all(each.opens for each in examined))

    def count(self, queues: Sequence[str]) -> Load:
        """How much is in all partitions."""
        runs: list[tuple[Partition, Calls[Any]]] = [(each, each.counting(queues)) for each in self._partitions]
        return added(good(self._run(together(runs))))

    def by_agent(self) -> Shares:
        """The jobs of each kind by their agents, in all partitions."""
        runs: list[tuple[Partition, Calls[Any]]] = [(each, each.sharing()) for each in self._partitions]
        return shares_added(good(self._run(together(runs))))

    def _counted(self) -> _Exchange[tuple[int, bool]]:
        """How many partitions the namespace has, and whether it is new. Whoever opens it first decides that, for
        ever."""
        [first] = self._new_partitions(1)
        # Opened again, after the cluster lost everything: what has it open goes on with as many as it knows.
        wanted = self._wanted or len(self._partitions) or DEFAULT_PARTITIONS
        counting = first.counted(wanted, self._absent)
        [(count, is_new)] = good((yield from together([(first, counting)])))
        if self._wanted and count != self._wanted:
            raise BadSetup(
                f"{self.url}: the namespace was made with {count} partitions: leave partitions={self._wanted} out, or "
                "move it to a new namespace with `batonpass repartition`"
            )
        return count, is_new

    def _know(self, count: int) -> None:
        """All partitions, at once: other threads use them while this one opens the store again. With fewer of them,
        what they store would go where nobody looks for it."""
        if count != len(self._partitions):
            self._partitions = self._new_partitions(count)

    def _new_partitions(self, count: int) -> list[Partition]:
        return [Partition(self.url, self.prefix(at), self._scripts, self._denial) for at in range(count)]

    async def aopen(self) -> None:
        await to_thread.run_sync(self.open)

    def close(self) -> None:
        self._link.close()

    async def aclose(self) -> None:
        await self._link.aclose()


def _is_hasty(command: Command[Any]) -> bool:
    return isinstance(command, _HASTY) or (isinstance(command, Reap) and command.spared is not None)


def _partitions(url: str, text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if not 0 <= number <= MAX_PARTITIONS:
        raise unusable(url, f"?partitions={text}, but a namespace has 1 to {MAX_PARTITIONS} of them")
    return number
