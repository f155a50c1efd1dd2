"""Slots: how many more deliveries a worker may claim."""

from __future__ import annotations

from collections.abc import Iterable

import anyio


class Slots:
    """`count` slots, in one event loop. A claim reserves some until its reply arrives. A delivery holds one until its
    agent is done."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.free = count
        self._taken: set[str] = set()  # leases whose agents need their slots
        self._freed: anyio.Event | None = None  # while somebody waits

    def reserve(self, most: int) -> int:
        """Reserve up to this many free slots. Returns how many."""
        number = min(most, self.free)
        self.free -= number
        return number

    def take(self, reserved: int, leases: Iterable[str]) -> None:
        """Give reserved slots to these leases, and free the rest."""
        before = len(self._taken)
        self._taken.update(leases)
        self._free_again(reserved - len(self._taken) + before)

    def done(self, lease: str) -> None:
        """Free the slot of a lease, if it still has one."""
        if lease in self._taken:
            self._taken.remove(lease)
            self._free_again(1)

    def have_none_of(self, leases: Iterable[str]) -> bool:
        """Whether the slots of all these leases are free again."""
        return self._taken.isdisjoint(leases)

    def _free_again(self, number: int) -> None:
        self.free += number
        if self._freed is not None:
            self._freed.set()
            self._freed = None

    async def wait(self) -> None:
        """Wait until a slot is freed."""
        freed = self._freed = anyio.Event()
        await freed.wait()
