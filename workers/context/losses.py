"""Losses: the fan-outs of a run that lost children, and which of them a redrive makes again. No I/O."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from contextvars import ContextVar
from threading import Thread
from typing import Any
from weakref import ref

from ..threads import Place, Runner, beside, place, runner

# Of a fan-out that lost children, when something is recorded that may depend on that: which one it was.
_ACTED = "acted/"
# The losses that the code here was told of, and in which run. Tasks inherit it from those that start them, and threads
# do with `asyncio.to_thread`. (Weak, because a pool's threads stay.)
_TOLD: ContextVar[tuple[ref[Losses], frozenset[str]] | None] = ContextVar("batonpass_told", default=None)


def is_acted_on(journal: Mapping[str, Any], full: str, fan: str) -> bool:
    """Whether something is recorded that may depend on how the children of a fan-out ended."""
    return bool(journal.get(_ACTED + full) == fan)


class Losses:
    """A fan-out is made again if nothing is done or recorded that may depend on how its children ended. What does is
    recorded together with that, so that it counts in each later run, in whichever order that one comes to its calls."""

    def __init__(self, journal: Mapping[str, Any], home: Place | None) -> None:
        self.again = set[str]()  # by key
        self._noted: dict[str, str] = {}  # which one each was
        self._acted: dict[str, str] = {}
        self._journal = journal
        self._home = home
        self._before: Container[Runner] = ()  # the tasks and threads that were there when the first one was told

    def told(self) -> frozenset[str]:
        """Those that the code here may know of. The agent's own may know of all, because its tasks tell it in any way.
        So may tasks and threads that have begun since, and the threads of an async agent: in which order a pool's get
        their work nobody can tell."""
        if place() == self._home:
            return frozenset(self._noted)
        here = runner()
        if here not in self._before or (isinstance(here, Thread) and not isinstance(self._home, int)):
            return frozenset(self._noted)
        return self._inherited() & self._noted.keys()

    def _inherited(self) -> frozenset[str]:
        run, told = _TOLD.get() or (None, frozenset[str]())
        return told if run is not None and run() is self else frozenset()

    def note(self, full: str, fan: str) -> None:
        """A fan-out lost children, as the code that calls this is told."""
        if not self._noted:
            self._before = beside(self._home)
        self._noted[full] = fan
        if not is_acted_on(self._journal, full, fan):
            self.again.add(full)
        _TOLD.set((ref(self), self._inherited() | {full}))

    def act_on(self, told: Iterable[str]) -> None:
        """Something is done, or recorded anew, by code that may know of these."""
        for each in told:
            if each in self.again:
                self.again.discard(each)
                self._acted[_ACTED + each] = self._noted[each]

    def act_on_all(self) -> None:
        """An effect or a question begins. To be safe, that depends on each loss that anybody was told of: what it did
        because a child was lost must not be done beside what this child does when it goes on."""
        self.act_on(list(self._noted))

    def news(self) -> dict[str, Any]:
        """What to record with the next call."""
        return {key: fan for key, fan in self._acted.copy().items() if self._journal.get(key) != fan}
