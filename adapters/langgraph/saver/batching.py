"""Batching: writes that wait a moment for the put that follows them, so that both are one commit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from ....coordinator.parts.recent import Spot
from ....coordinator.store import Behind
from ..record.pending_writes import PackedWrite
from .latch import Latch

# For how many checkpoints to remember the writes that were stored on their own, and how many bytes of them in all.
_REMEMBERED, _BYTES = 256, 64 * 1024 * 1024
_MOMENT = 0.005  # seconds; no less than how long another thread may keep the interpreter (sys.getswitchinterval)


@dataclass(eq=False, slots=True)
class Batch:
    """What one task wrote. `taken` is set as soon as a put has taken it along. `stored` opens when the store has it. If
    it is not on the disk by then, `behind` is set, and the task (not the put) waits for that."""

    spot: Spot
    writes: list[PackedWrite]
    taken: bool = False
    stored: Latch = field(default_factory=Latch)
    behind: Behind | None = None


class Batching:
    """Batches that wait, puts on their way, and writes that were stored on their own. If the next put contains the
    values of these, they can refer to it, so that the values are not kept twice."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._batches: dict[Spot, list[Batch]] = {}
        self._expected: dict[Spot, Latch] = {}
        self._flying: dict[tuple[str, str], list[Latch]] = {}
        self._leaving: dict[tuple[str, str], list[Latch]] = {}
        self._alone: OrderedDict[Spot, dict[str, PackedWrite]] = OrderedDict()
        self._bytes = 0

    def add(self, spot: Spot, writes: list[PackedWrite]) -> Batch:
        """Let what a task wrote on a checkpoint wait."""
        batch = Batch(spot, writes)
        with self._lock:
            self._batches.setdefault(spot, []).append(batch)
            expected = self._expected.pop(spot, None)
        if expected is not None:
            expected.open()
        return batch

    def count(self, spot: Spot) -> int:
        """How many batches wait for the put that follows a checkpoint."""
        return len(self._batches.get(spot, ()))

    @property
    def moment(self) -> float:
        """For how many seconds a thread waits for another one of its run. It grows with the runs that wait here, which
        may all keep the interpreter from that thread: 50 runs stored up to two thirds of their writes on their own."""
        return _MOMENT * max(len(self._batches), 1)

    def expect(self, parent: Spot) -> None:
        """Wait a moment until something is written on a checkpoint. The thread that writes it may not have begun yet
        when the put that follows begins."""
        with self._lock:
            if parent in self._batches or parent in self._alone:
                return
            expected = self._expected.setdefault(parent, Latch())
        if not expected.wait(self.moment):
            with self._lock:
                if self._expected.get(parent) is expected:
                    del self._expected[parent]

    def withdraw(self, batch: Batch) -> bool:
        """Stop waiting. False if a put has taken the batch along."""
        if batch.taken:
            return False
        with self._lock:
            waiting = self._batches.get(batch.spot, [])
            if batch not in waiting:
                return False
            waiting.remove(batch)
            if not waiting:
                del self._batches[batch.spot]
            return True

    @contextmanager
    def leaving(self, batch: Batch) -> Generator[None]:
        """A batch is stored on its own."""
        with self._lock:
            self._leaving.setdefault(batch.spot[:2], []).append(batch.stored)
        try:
            yield
            self._went(batch)
        finally:
            with self._lock:
                _remove(self._leaving, batch.spot, batch.stored)
            batch.stored.open()

    def _went(self, batch: Batch) -> None:
        with self._lock:
            known = self._alone.setdefault(batch.spot, {})
            for write in batch.writes:
                if write.again or write.name not in known:
                    before = known.get(write.name)
                    self._bytes += len(write.packed) - (len(before.packed) if before else 0)
                    known[write.name] = write
            while len(self._alone) > _REMEMBERED or self._bytes > _BYTES:
                self._bytes -= _size(self._alone.popitem(last=False)[1])

    def take(self, parent: Spot) -> tuple[list[Batch], list[PackedWrite]]:
        """What waits for the put that follows a checkpoint, and what was stored on its own before."""
        with self._lock:
            batches = self._batches.pop(parent, [])
            alone = self._alone.pop(parent, {})
            self._bytes -= _size(alone)
        for batch in batches:
            batch.taken = True
        return batches, list(alone.values())

    def flight(self, spot: Spot, *, writes: bool = False) -> Latch | None:
        """A put on its way to a checkpoint's thread and namespace, or None. While there is one, the put that a write
        waits for has not begun, because LangGraph makes one after the other. With `writes`, also a batch on its way
        without a put."""
        with self._lock:
            flights = self._flying.get(spot[:2]) or (writes and self._leaving.get(spot[:2]))
            return flights[-1] if flights else None

    def begin(self, spot: Spot) -> Latch:
        """A put begins. To be ended with `end`."""
        flight = Latch()
        with self._lock:
            self._flying.setdefault(spot[:2], []).append(flight)
        return flight

    def end(
        self,
        spot: Spot,
        flight: Latch,
        batches: list[Batch],
        error: BaseException | None,
        behind: Behind | None,
    ) -> None:
        """A put has ended, and so have the batches that it took along."""
        with self._lock:
            _remove(self._flying, spot, flight)
        flight.open()
        for batch in batches:
            batch.behind = behind
            batch.stored.open(error)


def _size(writes: dict[str, PackedWrite]) -> int:
    return sum(len(write.packed) for write in writes.values())


def _remove(ways: dict[tuple[str, str], list[Latch]], spot: Spot, ending: Latch) -> None:
    ways[spot[:2]].remove(ending)
    if not ways[spot[:2]]:
        del ways[spot[:2]]
