"""MoveIn: moves a SQLite file to a new namespace on Redis. Run again after a crash, it ends the same.

The target is `filling` while it is filled. Then the file's namespace is marked as `moved`, and last the target is
opened: at no moment can both be written to.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from sqlite3 import Connection
from typing import NamedTuple

from ....contracts.errors import BadSetup
from ...refusals import refusal
from ...sqlite.file import open_file
from ...sqlite.moved import mark, mark_of
from ...sqlite.store import SqliteStore
from ...sqlite.waiting import patiently
from ...store import host_clock
from ...urls import namespace_of, open_store
from ..server import SCHEMA_VERSION
from . import marks
from .embedded import Embedded
from .filling import Comparing, Filling
from .marks import Mark
from .move import Progress
from .side import Side

# The keys that a namespace has as soon as somebody opens it. Other keys mean jobs or states.
_OPENED = frozenset({"schema", "epoch", "partitions"})
# What must not be under way, how to look for it, and what to do about it.
_UNDER_WAY = (
    ("live workers", "SELECT count(DISTINCT worker) FROM presence WHERE namespace = ? AND until > ?",
     "stop them first (one that was killed is forgotten after 5 seconds)"),
    ("running jobs", "SELECT count(*) FROM job WHERE namespace = ? AND lease_until > 0 AND ? > 0",
     "a worker that is stopped gives them back; let one start and stop again after a crash"),
    ("open fan-outs", "SELECT count(*) FROM job WHERE namespace = ? AND reason = 'waiting_children' AND ? > 0",
     "let them end, or `batonpass cancel` them (`batonpass jobs --state working` lists them)"),
    ("fan-outs whose children are being canceled", "SELECT count(*) FROM chore WHERE namespace = ? AND ? > 0",
     "let a worker run for a moment"),
)  # fmt: skip


class MovedIn(NamedTuple):
    """What was moved: from where, to where; how many rows were read, and elements compared."""

    source: str
    target: str
    rows: int
    elements: int


class MoveIn:
    """A file and a new namespace, by their URLs. The file is locked against writers meanwhile, and only marked."""

    def __init__(
        self,
        source: str,
        target: str,
        progress: Progress = lambda done, keys: None,
        clock: Callable[[], int] = host_clock,
    ) -> None:
        store = open_store(source)
        if not isinstance(store, SqliteStore):
            raise BadSetup(f"{store.url} is no SQLite file: `batonpass repartition` moves what is on Redis")
        self._store = store
        self._namespace = namespace_of(source)
        self._target = Side(target)
        token = marks.new_token()
        self._filling = Mark("filling", token, f"{store.url}?namespace={self._namespace}")
        self._moved = Mark("moved", token, self._target.name)
        self._progress = progress
        self._clock = clock

    def run(self) -> MovedIn:
        """Copy, compare, open. Refuses before it writes anything."""
        examined = self._store.examine()
        if not examined.opens:
            raise BadSetup("; ".join(finding.text for finding in examined.findings if finding.level != "ok"))
        with closing(open_file(self._store.path)) as connection:
            patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
            there = marks.read(self._target)[0]
            self._check_mark(self._mark_of(connection), there)
            self._check_target(there)
            self._check_source(connection)
            self._take(there)
            done = self._fill(Embedded(connection, self._namespace, self._clock()))
            mark(connection, self._namespace, self._moved.text)
            connection.execute("COMMIT")
        marks.change(self._target, 0, self._filling, Mark(), schema=str(SCHEMA_VERSION))
        return done

    def cancel(self) -> bool:
        """Make the file usable again. What an incomplete move has copied is deleted; what a complete one has copied
        stays. Returns whether it was deleted."""
        there, ours = marks.read(self._target)[0], self._mark()
        if ours.kind and ours.where != self._target.name:
            raise BadSetup(
                f"{self._filling.where} was moved to {ours.where}: to cancel that, name it as it is written here"
            )
        is_incomplete = there.where == self._filling.where and there.kind in ("taking", "filling")
        if is_incomplete:
            self._clear(there)
        elif ours.kind and there.kind:
            raise refusal("elsewhere", there.text)  # it was moved on
        elif ours.kind:
            self._target.check_no_workers()  # what they run would run in the file, too
        else:
            raise BadSetup(f"{self._target.name} was not filled from {self._filling.where}: nothing to cancel")
        if ours.kind:
            with closing(open_file(self._store.path)) as connection:
                patiently(lambda: mark(connection, self._namespace, ""))
        return is_incomplete

    def _clear(self, there: Mark) -> None:
        if there.kind == "filling":
            marks.change(self._target, 0, there, self._filling)
            filling = Filling(self._target, self._filling.text)
            filling.clear()
            filling.forget_partitions()
            there = self._filling
        marks.change(self._target, 0, there, Mark())

    def _check_mark(self, ours: Mark, there: Mark) -> None:
        if ours.kind and (ours.where, there.where) != (self._target.name, self._filling.where):
            raise BadSetup(
                f"{self._filling.where} was moved to {ours.where} already: use that, or undo it with --cancel first"
            )

    def _check_target(self, there: Mark) -> None:
        target = self._target
        if target.count != 1:
            raise BadSetup(
                f"{target.name} has {target.count} partitions, and what comes from a file goes to one: move it to a "
                "namespace with ?partitions=1, then that on with `batonpass repartition`"
            )
        if there.where != self._filling.where and (there.kind or self._is_used()):
            raise self._used()

    def _mark(self) -> Mark:
        """The mark of the file's namespace."""
        if not self._store.examine().opens:
            return Mark()
        with closing(open_file(self._store.path)) as connection:
            return patiently(lambda: self._mark_of(connection))

    def _mark_of(self, connection: Connection) -> Mark:
        return Mark.of(mark_of(connection, self._namespace))

    def _take(self, there: Mark) -> None:
        """Keep everybody else out of the target, then check that nobody has used it just before. Whatever is there once
        it is `filling` is ours, and deleted."""
        if there.kind != "filling":
            taking = self._filling.as_("taking")
            marks.change(self._target, 0, there, taking)
            there = taking
            if self._is_used():
                marks.change(self._target, 0, taking, Mark())
                raise self._used()
        marks.change(self._target, 0, there, self._filling)

    def _is_used(self) -> bool:
        """Whether there is more in the target than opening it leaves."""
        return any(key not in _OPENED and key != "moved" for page in self._target.scan() for _, key in page)

    def _used(self) -> BadSetup:
        return BadSetup(f"{self._target.name} is there already, and not empty: name a new ?namespace=")

    def _check_source(self, connection: Connection) -> None:
        where = (self._namespace, self._clock())
        for what, query, to_do in _UNDER_WAY:
            if count := connection.execute(query, where).fetchone()[0]:
                raise BadSetup(f"{count} {what} in {self._filling.where}: {to_do}")

    def _fill(self, embedded: Embedded) -> MovedIn:
        filling, comparing = Filling(self._target, self._filling.text), Comparing(self._target)
        filling.clear()
        filling.note_partitions()
        for piece in embedded:
            filling.add(piece)
            self._progress("copied", embedded.rows)
        filling.flush()
        rows, embedded.rows = embedded.rows, 0
        for piece in embedded:
            comparing.add(piece)
            self._progress("compared", embedded.rows)
        elements = comparing.count()
        return MovedIn(self._filling.where, self._target.name, rows, elements)

    def close(self) -> None:
        self._store.close()
        self._target.close()
