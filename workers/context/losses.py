"""Losses: the fan-outs of a run that lost children, and which of them a redrive makes again. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from contextvars import ContextVar
from threading import Thread
from weakref import ref

from ..threads import Place, Runner, beside, place, runner

# The losses that the code here was told of, and in which run. Tasks inherit it from those that start them, and threads
# do with `asyncio.to_thread`. (Weak, because a pool's threads stay.)
_TOLD: ContextVar[tuple[ref[Losses], frozenset[str]] | None] = ContextVar("batonpass_told", default=None)


class Losses:
    """A fan-out is made again if nothing is recorded that may depend on how its children ended.

    `made` has, for each fan-out that was made while other tasks or threads than the agent's own called something, too,
    the losses that its caller knew of, what was recorded then and is not named with an earlier one, and, if it was made
    again, all that was recorded then.
    """

    def __init__(self, made: Mapping[str, Sequence[Collection[str]]], home: Place | None) -> None:
        # By key, with the record that has a redrive make them again ("": it does so without one).
        self.again: dict[str, str] = {}
        self._noted: dict[str, tuple[str, set[str]]] = {}
        self._home = home
        self._before: Container[Runner] = ()  # the tasks and threads that were there when the first one was told
        self._knew = {full: told for full, (told, *_) in made.items()}
        self._found_again = {full: frozenset(again) for full, (_, _, *more) in made.items() for again in more}
        # Which fan-out was the first that found something recorded.
        self.found: dict[str, int] = {}
        for full in sorted(made, key=ordinal):
            for each in made[full][1]:
                self.found.setdefault(each, ordinal(full))
        self.apart = False  # other tasks or threads than the agent's own have called something

    def told(self) -> frozenset[str]:
        """Those that the code here may know of. The agent's own may know of all, because its tasks tell it in any way.
        So may tasks and threads that have begun since, and the threads of an async agent: in which order a pool's get
        their work nobody can tell."""
        if place() == self._home:
            return frozenset(self._noted)
        self.apart, here = True, runner()
        if here not in self._before or (isinstance(here, Thread) and not isinstance(self._home, int)):
            return frozenset(self._noted)
        return self._inherited() & self._noted.keys()

    def _inherited(self) -> frozenset[str]:
        run, told = _TOLD.get() or (None, frozenset[str]())
        return told if run is not None and run() is self else frozenset()

    def note(self, full: str, record: str, ahead: Collection[str]) -> None:
        """A fan-out lost children, as the code that calls this is told. `ahead` is what is recorded, and this run has
        not called yet."""
        if not self._noted:
            self._before = beside(self._home)
        left = {each for each in ahead if not self._is_beside(full, each)}
        self._noted[full] = record, left
        if not left:
            self.again[full] = record
        _TOLD.set((ref(self), self._inherited() | {full}))

    def call(self, full: str, told: Collection[str]) -> None:
        """A fan-out or a step is called, by code that was told of these losses before."""
        for each in told:
            if not self._is_beside(each, full):
                self._noted.pop(each, None)
                self.again.pop(each, None)
        for each, (record, ahead) in list(self._noted.items()):
            ahead.discard(full)
            if not ahead:
                self.again[each] = record

    def act(self, full: str) -> None:
        """An effect or a question is called. To be safe, that depends on each loss that anybody was told of: what it
        did because a child was lost must not be done beside what this child does when it goes on."""
        self.told()
        self.call(full, list(self._noted))

    def _is_beside(self, lost: str, full: str) -> bool:
        """Whether a call surely does not depend on how the children of a fan-out ended."""
        if full in self._found_again.get(lost, ()) or (full in self.found and self.found[full] <= ordinal(lost)):
            return True
        return full in self._knew and lost not in self._knew[full]


def ordinal(full: str) -> int:
    """The place of a counted call among those of its name, by its key."""
    return int(full.partition("#")[2] or 0)
