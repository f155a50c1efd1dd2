"""The model store, for one process: tests, notebooks, scripts. Nothing outlives the process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from threading import Lock
from typing import TypeVar

from .. import checkup
from ..bell import Bell, BellWatch
from ..checkup import Load, Queued, Shares
from ..coded.codec import Codec
from ..commands import Command
from ..lifetime import Lifetime
from ..operations import run
from ..store import KEPT_EVENTS, Topic, Watch, host_clock, rings
from .records import MemoryRecords

R = TypeVar("R")


class MemoryStore:
    """Operations over dicts, one at a time. `clock` answers ms since 1970."""

    url = "memory://"
    namespace = "default"  # nobody shares it

    codec: Codec | None = None
    kept_events = KEPT_EVENTS

    def __init__(self, *, clock: Callable[[], int] = host_clock) -> None:
        self._records = MemoryRecords()
        self._clock = clock
        self._lock = Lock()
        self._bell = Bell()
        self.lifetime = Lifetime()

    def call(self, command: Command[R]) -> R:
        """Carry a command out. The operations check everything before they write, so nothing is ever undone."""
        self.lifetime.check()
        with self._lock:
            self._records.now = self._clock()
            last = self._records.last_event()
            answer = run(self._records, command)
            told = self._records.last_event() != last
        if rings(command, answer, told):
            self._bell.ring()
        return answer

    async def acall(self, command: Command[R]) -> R:
        """The same: no operation waits for anything."""
        return self.call(command)

    async def acall_after(self, watch: Watch, timeout: float, command: Command[R]) -> R:
        """Wait, then carry a command out."""
        await watch.await_(timeout)
        return await self.acall(command)

    def count(self, queues: Sequence[str]) -> Load:
        """Who takes from its queues: the only thing that is asked of a store that nobody keeps running."""
        with self._lock:
            self._records.now = self._clock()
            return Load(queues={queue: Queued(workers=self._records.workers(queue)) for queue in queues})

    def by_agent(self) -> Shares:
        """The jobs of each kind by their agents."""
        with self._lock:
            rows = self._records.jobs(2**31, (0, ""), "", "", dead=False, children=True)
        agents = {
            "running": [row.agent for row in rows if row.lease_until],
            "timed": [row.agent for row in rows if row.due],
            "asking": [row.agent for row in rows if row.state == "input_required"],
            "dead": [row.agent for row in rows if row.state == "failed"],
            "limited": [row.agent for row in rows if row.waits],
        }
        looked_at = {kind: found[: checkup.SHARED_OUT] for kind, found in agents.items()}
        return checkup.shares_of(looked_at, {kind: len(found) for kind, found in agents.items()})

    def watch(self, topic: Topic) -> BellWatch:
        """Any change rings."""
        self.lifetime.check()
        return BellWatch(self._bell)

    def behind(self) -> None:
        """Nothing: what was answered is kept as it will be."""

    def sibling(self) -> MemoryStore:
        """Another handle on the same records."""
        made = copy(self)
        made.lifetime = Lifetime()
        return made

    def open(self) -> None:
        """Nothing to open."""

    def close(self) -> None:
        """Nothing to close: the records live as long as the store object."""

    async def aopen(self) -> None:
        """Nothing to open."""

    async def aclose(self) -> None:
        """Nothing to close."""
