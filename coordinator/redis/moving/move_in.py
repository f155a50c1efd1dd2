"""MoveIn: moves a SQLite file to a new namespace on Redis. Run again after a crash, it ends the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from sqlite3 import Connection
from typing import NamedTuple

from ....contracts.errors import BadSetup
from ...rows import SCHEMA_VERSION
from ...sqlite.file import open_file
from ...sqlite.store import SqliteStore
from ...sqlite.waiting import patiently
from ...urls import namespace_of, open_store
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
    """A file and a new namespace, by their URLs. The file is only read, and locked against writers meanwhile."""

    def __init__(
        self,
        source: str,
        target: str,
        progress: Progress = lambda done, keys: None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        store = open_store(source)
        if not isinstance(store, SqliteStore):
            raise BadSetup(f"{store.url} is no SQLite file: `batonpass repartition` moves what is on Redis")
        self._store = store
        self._namespace = namespace_of(source)
        self._target = Side(target)
        self._filling = Mark("filling", marks.new_token(), f"{store.url}?namespace={self._namespace}")
        self._progress = progress
        self._clock = clock

    def run(self) -> MovedIn:
        """Copy, compare, open. Refuses before it writes anything."""
        there = self._check_target()
        examined = self._store.examine()
        if not examined.opens:
            raise BadSetup("; ".join(finding.text for finding in examined.findings if finding.level != "ok"))
        with closing(open_file(self._store.path)) as connection:
            patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
            self._check_source(connection)
            self._take(there)
            return self._fill(Embedded(connection, self._namespace, self._clock()))

    def cancel(self) -> None:
        """Give up an incomplete move: what was copied is deleted."""
        there = marks.read(self._target)[0]
        if there.where != self._filling.where or there.kind not in ("taking", "filling"):
            raise BadSetup(f"{self._target.name} is not being filled from {self._filling.where}: nothing to cancel")
        if there.kind == "filling":
            marks.change(self._target, 0, there, self._filling)
            filling = Filling(self._target, self._filling.text)
            filling.clear()
            filling.forget_partitions()
            there = self._filling
        marks.change(self._target, 0, there, Mark())

    def _check_target(self) -> Mark:
        target = self._target
        if target.count != 1:
            raise BadSetup(
                f"{target.name} has {target.count} partitions, and what comes from a file goes to one: move it to a "
                "namespace with ?partitions=1, then that on with `batonpass repartition`"
            )
        there = marks.read(target)[0]
        if there.where != self._filling.where and (there.kind or self._is_used()):
            raise self._used()
        return there

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
        marks.change(self._target, 0, self._filling, Mark(), schema=str(SCHEMA_VERSION))
        return MovedIn(self._filling.where, self._target.name, rows, elements)

    def close(self) -> None:
        self._store.close()
        self._target.close()
