"""Dropping: deletes a whole namespace in a SQLite file. Run again after an interruption, it ends the same.

Jobs and threads are deleted by the operations that know what belongs to them, a few at a time: others can write
meanwhile.
What is left after that has the namespace's name in each row.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from ...contracts.errors import BadSetup, NotFound
from ...contracts.job import ENDED
from .. import commands as c
from ..rows import JobRow
from ..store import host_clock
from .file import open_file
from .store import SqliteStore
from .troubles import in_our_words
from .waiting import Courtesy, patiently

_PAGE = 200
_AT_ONCE, _EVENTS = 100, 1000  # how many jobs, and how many events, are deleted before others may write


def drop(store: SqliteStore, progress: Callable[[str, int], None]) -> int:
    """Delete all that an open store's namespace has. Returns the number of its jobs."""
    with closing(open_file(store.path)) as connection:
        try:
            patiently(lambda: _check_there(connection, store))
            patiently(lambda: _check_no_workers(connection, store))
            count = _jobs(store, progress)
            _threads(store)
            _events(connection, store.namespace)
            patiently(lambda: _rows(connection, store.namespace))
        except sqlite3.Error as error:
            raise in_our_words(error, store.path) from error
    return count


def _check_there(connection: sqlite3.Connection, store: SqliteStore) -> None:
    """`NotFound` if nothing has the namespace's name, which may be mistyped."""
    for table in _tables(connection):
        if connection.execute(f"SELECT 1 FROM {table} WHERE namespace = ? LIMIT 1", (store.namespace,)).fetchone():
            return
    raise NotFound(f"there is no namespace {store.namespace!r} in {store.path}")


def _tables(connection: sqlite3.Connection) -> list[str]:
    """Those whose rows are of a namespace each."""
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [
        table
        for table in tables
        if any(row[1] == "namespace" for row in connection.execute(f"PRAGMA table_info({table})"))
    ]


def _check_no_workers(connection: sqlite3.Connection, store: SqliteStore) -> None:
    alive = "SELECT count(DISTINCT worker) FROM presence WHERE namespace = ? AND until > ?"
    if number := connection.execute(alive, (store.namespace, host_clock())).fetchone()[0]:
        raise BadSetup(
            f"{number} worker(s) are at work in namespace {store.namespace!r} of {store.path}: stop them first (one "
            "that was killed is forgotten after 5 seconds)"
        )


def _jobs(store: SqliteStore, progress: Callable[[str, int], None]) -> int:
    """Cancel what has not ended, then delete it: the newest first, so that children go before their parents."""
    count, courtesy = 0, Courtesy()
    while rows := store.call(c.ListJobs(_AT_ONCE)):
        began = time.monotonic()
        for answer in store.write_all([command for row in rows for command in _ending(row)]):
            if isinstance(answer, Exception):
                raise answer
        count += len(rows)
        progress("deleted", count)
        time.sleep(courtesy.pause(began))
    return count


def _ending(row: JobRow) -> Iterator[c.Command[Any]]:
    if row.state not in ENDED:
        yield c.Cancel(row.id)
    yield c.DeleteJob(row.id)


def _threads(store: SqliteStore) -> None:
    while names := store.call(c.Threads(_PAGE)):
        for name in names:
            while store.call(c.DeleteThread(name)).next >= 0:
                pass


def _events(connection: sqlite3.Connection, namespace: str) -> None:
    """Mostly the most rows by far: some at a time, so that others can write meanwhile."""
    some = "SELECT number FROM event WHERE namespace = ? ORDER BY number LIMIT ?"
    query = f"DELETE FROM event WHERE namespace = ? AND number IN ({some})"
    courtesy, left = Courtesy(), True
    while left:
        began = time.monotonic()
        left = patiently(lambda: connection.execute(query, (namespace, namespace, _EVENTS))).rowcount > 0
        time.sleep(courtesy.pause(began))


def _rows(connection: sqlite3.Connection, namespace: str) -> None:
    """What is left: declarations, items, groups, keys. In one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for table in _tables(connection):
            connection.execute(f"DELETE FROM {table} WHERE namespace = ?", (namespace,))
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
