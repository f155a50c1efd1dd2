"""Move: a repartition from its first mark to its last. Repeated after a crash at any point, it ends the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ....contracts.errors import BadSetup, Corrupted, NotFound
from . import marks
from .filling import Comparing, Filling
from .marks import Mark
from .side import Side
from .walk import Walk

# Called with what is being done, and with the number of keys so far.
Progress = Callable[[str, int], None]


class Moved(NamedTuple):
    """What was moved: from where, to where, to how many partitions; keys copied, and elements compared."""

    source: str
    target: str
    partitions: int
    keys: int
    elements: int


class Move:
    """The two namespaces of a repartition, by their URLs."""

    def __init__(self, source: str, target: str, progress: Progress = lambda done, keys: None) -> None:
        self._source = Side(source)
        self._target = Side(target)
        self._progress = progress
        token = marks.new_token()
        self._moving = Mark("moving", token, self._target.name)
        self._filling = Mark("filling", token, self._source.name)
        if self._source.name == self._target.name:
            raise BadSetup("a namespace is moved to another one: give the second URL another ?namespace=")
        if not self._source.exists:
            raise NotFound(f"there is no namespace {self._source.namespace!r} in {self._source.name}")

    def run(self) -> Moved:
        """Copy, compare, switch. Refuses before it writes anything."""
        theirs, ours = marks.read(self._target), marks.read(self._source)
        self._check(ours, theirs)
        keys = elements = 0
        if ours[0].kind != "moved":
            self._source.check_no_workers()
            self._begin(ours, theirs)
            keys = self._copy()
            elements = self._compare()
            self._switch()
        self._open()
        return Moved(self._source.name, self._target.name, self._target.count, keys, elements)

    def cancel(self) -> None:
        """Give up an incomplete move: the old namespace is usable again, and what was copied is deleted."""
        theirs, ours = marks.read(self._target), marks.read(self._source)
        if ours[0].kind == "moved" or self._target.name not in {mark.where for mark in ours}:
            raise BadSetup(f"{self._source.name} is not being moved to {self._target.name}: there is nothing to cancel")
        self._take_over(ours)
        if all(mark.where in ("", self._source.name) for mark in theirs) and any(mark.kind for mark in theirs):
            self._take(theirs)
            filling = Filling(self._target, self._filling.text)
            filling.clear()
            filling.forget_partitions()
            for at in self._target.partitions:
                marks.change(self._target, at, self._filling, Mark())
        for at in reversed(self._source.partitions):
            marks.change(self._source, at, self._moving, Mark())

    def drop_old(self) -> int:
        """Delete what a complete move has left in the old namespace, except its marks. Returns the number of keys."""
        done = marks.read(self._source)[0]
        # The new namespace may have been moved on since.
        theirs = {each.kind for each in marks.read(self._target)}
        if (done.kind, done.where) != ("moved", self._target.name) or theirs - {"", "moved"}:
            raise BadSetup(f"{self._source.name} was not moved to {self._target.name} yet: nothing was dropped")
        count = 0
        for page in self._source.scan():
            old = [(at, "UNLINK", key) for at, key in page if key not in ("moved", "partitions", "schema")]
            count += sum(self._source.ask(old))
        return count

    def _check(self, ours: list[Mark], theirs: list[Mark]) -> None:
        source, target = self._source, self._target
        mark = next((mark for mark in ours if mark.kind), Mark())
        if mark.kind == "moved" and mark.where != target.name:
            raise BadSetup(f"{source.name} was moved to {mark.where} already: go on from there")
        if mark.kind == "moving" and mark.where != target.name:
            raise BadSetup(
                f"{source.name} is being moved to {mark.where}: name it as it is written here, or give that up with "
                "--cancel"
            )
        if mark.kind in ("taking", "filling", "ready"):
            raise BadSetup(f"{source.name} is being filled from {mark.where}: end that first")
        if target.count % source.count:
            raise BadSetup(
                f"{source.name} has {source.count} partitions, and {target.name} would have {target.count}: give it a "
                "multiple (?partitions=)"
            )
        is_ours = any(each.where == source.name for each in theirs)
        if mark.kind != "moved" and not is_ours and any(page for page in target.scan()):
            raise BadSetup(f"{target.name} is there already, if only since it was looked at: name a new ?namespace=")

    def _begin(self, ours: list[Mark], theirs: list[Mark]) -> None:
        """Keep everybody else from writing to either namespace."""
        self._take_over(ours)
        self._take(theirs)
        Filling(self._target, self._filling.text).note_partitions()

    def _take_over(self, ours: list[Mark]) -> None:
        for at, known in enumerate(ours):
            marks.change(self._source, at, known, self._moving)

    def _take(self, theirs: list[Mark]) -> None:
        for at, known in enumerate(theirs):
            marks.change(self._target, at, known, self._filling, unused=True)

    def _copy(self) -> int:
        filling = Filling(self._target, self._filling.text)
        filling.clear()
        walk = Walk(self._source, self._target.count)
        for piece in walk:
            filling.add(piece)
            self._progress("copied", walk.keys)
        filling.flush()
        return walk.keys

    def _compare(self) -> int:
        comparing = Comparing(self._target)
        walk = Walk(self._source, self._target.count)
        try:
            for piece in walk:
                comparing.add(piece)
                self._progress("compared", walk.keys)
            return comparing.count()
        except Corrupted:
            if set(marks.read(self._target)) != {self._filling}:
                raise marks.overtaken(self._target) from None
            raise

    def _switch(self) -> None:
        """Let no later attempt take over. Then the one write that decides."""
        for at in self._target.partitions:
            marks.change(self._target, at, self._filling, self._filling.as_("ready"))
        marks.change(self._source, 0, self._moving, self._moving.as_("moved"))

    def _open(self) -> None:
        """Make the new namespace usable, once the old one says that it was moved. The first partition comes last."""
        done = marks.read(self._source)
        for at, known in enumerate(done):
            marks.change(self._source, at, known, done[0])
        [schema] = self._source.ask([(0, "GET", "schema")])
        ready = Mark("ready", done[0].token, self._source.name)
        for at, there in reversed(list(enumerate(marks.read(self._target)))):
            if there == ready:
                marks.change(self._target, at, ready, Mark(), schema=schema.decode())
            elif there.kind:
                raise Corrupted(f"{self._target.name} is not what was copied: it is {there.text}")

    def close(self) -> None:
        self._source.close()
        self._target.close()
