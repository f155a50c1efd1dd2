"""Losses: the fan-outs of a run that lost children, and which of them a redrive makes again. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from weakref import ref

# The losses that the code here was told of, and in which run. Tasks inherit it from those that start them, and threads
# do with `asyncio.to_thread`. (Weak, because a pool's threads stay.)
_TOLD: ContextVar[tuple[ref[Losses], frozenset[str]] | None] = ContextVar("batonpass_told", default=None)


class Losses:
    """A fan-out is made again if nothing is recorded that may depend on how its children ended.

    `made` has, for each fan-out that another task or thread than the agent's own has called, the losses that this one
    was told of, and what was recorded when it was made.
    """

    def __init__(self, made: Mapping[str, Sequence[Collection[str]]]) -> None:
        # By key, with the record that has a redrive make them again ("": it does so without one).
        self.again: dict[str, str] = {}
        self._noted: dict[str, tuple[str, set[str]]] = {}
        self._made = made

    def told(self, *, home: bool) -> frozenset[str]:
        """Those that the code here was told of. Tasks tell the agent's own (`home`) in any way."""
        if home:
            return frozenset(self._noted)
        run, told = _TOLD.get() or (None, frozenset[str]())
        return told & self._noted.keys() if run is not None and run() is self else frozenset()

    def note(self, full: str, record: str, ahead: Collection[str]) -> None:
        """A fan-out lost children, as the code that calls this is told. `ahead` is what is recorded, and this run has
        not called yet."""
        left = {each for each in ahead if not self._is_beside(full, each)}
        self._noted[full] = record, left
        if not left:
            self.again[full] = record
        _TOLD.set((ref(self), self.told(home=False) | {full}))

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
        self.call(full, list(self._noted))

    def _is_beside(self, lost: str, full: str) -> bool:
        """Whether a call surely does not depend on how the children of a fan-out ended."""
        if full in self._made.get(lost, ((), ()))[1]:
            return True
        return full in self._made and lost not in self._made[full][0]
