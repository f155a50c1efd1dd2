"""Losses: the fan-outs of a run that lost children, and which of them a redrive makes again. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Container

from ..threads import Place, beside, place


class Losses:
    """A fan-out is made again if nothing is recorded that may depend on how its children ended. What was called at once
    with it, by code that had not been told yet, does not."""

    def __init__(self) -> None:
        # By key, with the record that has a redrive make them again ("": it does so without one).
        self.again: dict[str, str] = {}
        self._noted: dict[str, tuple[str, set[str]]] = {}
        self._home: Place | None = None
        self._who: dict[str, Place] = {}  # was told of each
        self._others: Container[Place] = ()  # that were there when the first one was told

    def __bool__(self) -> bool:
        return bool(self._noted)

    def told(self, here: Place) -> frozenset[str]:
        """Those that the agent's code here was told of: it was given one, or is the agent's own, or has begun since.
        (Of a thread that is not known: a pool may start it late.)"""
        told = here == self._home or (not isinstance(here, int) and here not in self._others)
        return frozenset(full for full in list(self._noted) if told or here == self._who[full])

    def note(self, full: str, record: str, ahead: Collection[str], home: Place | None) -> None:
        """A fan-out lost children, as the code that calls this is told. `ahead` is what is recorded, and this run has
        not called yet. The agent's own code is at `home`."""
        if not self._noted:
            self._home, self._others = home, beside(home)
        self._who[full] = place()
        self._noted[full] = record, set(ahead)
        if not ahead:
            self.again[full] = record

    def call(self, full: str, told: Collection[str]) -> None:
        """A fan-out, a step or an effect is called, by code that was told of these losses before."""
        for each in told:
            self._noted.pop(each, None)
            self.again.pop(each, None)
        for each, (record, ahead) in list(self._noted.items()):
            ahead.discard(full)
            if not ahead:
                self.again[each] = record

    def clear(self) -> None:
        """A question is asked."""
        self._noted.clear()
        self.again.clear()
        self._others = ()
