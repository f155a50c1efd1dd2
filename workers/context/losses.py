"""Losses: the fan-outs of a run that lost children, and which of them a redrive makes again. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...coordinator.commands import ACTED, SETTLED


class Losses:
    """A fan-out is made again if nothing new is recorded after anybody was told that it lost children: what the code
    did because of that must not be done beside what they do when they go on. That something was is recorded together
    with it, so that it counts in each later run, in whichever order that one comes to its calls."""

    def __init__(self, journal: Mapping[str, Any]) -> None:
        self.again = set[str]()  # by key
        self._noted: dict[str, str] = {}  # which one each was
        self._acted = dict[str, Any]()
        self._journal = journal

    def told(self) -> frozenset[str]:
        """Those that anybody was told of."""
        return frozenset(self._noted)

    def note(self, full: str, fan: str) -> None:
        """A fan-out lost children, as the code that calls this is told."""
        self._noted[full] = fan
        if self._journal.get(ACTED + full) == "":
            self.again.add(full)

    def act_on(self, told: Iterable[str]) -> None:
        """Something is done, or recorded anew, that may depend on these."""
        for each in told:
            if each in self.again:
                self.again.discard(each)
                self._acted |= {ACTED + each: self._noted[each], SETTLED + self._noted[each]: True}

    def news(self) -> dict[str, Any]:
        """What to record with the next call."""
        return {key: value for key, value in self._acted.copy().items() if self._journal.get(key) != value}
