"""Dropping: deletes a whole namespace in a SQLite file. Run again after an interruption, it ends the same.

Jobs and threads are deleted one by one, by the operations that know what belongs to them: others can write meanwhile.
What is left after that has the namespace's name in each row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

from ...contracts.errors import BadSetup, NotFound
from ...contracts.job import ENDED
from .. import commands as c
from ..rows import JobRow
from ..store import host_clock
from .file import open_file
from .store import SqliteStore
from .troubles import in_our_words
from .waiting import patiently

_PAGE = 200


def drop(store: SqliteStore, progress: Callable[[str, int], None]) -> int:
    """Delete all that an open store's namespace has. Returns the number of its jobs."""
    with closing(open_file(store.path)) as connection:
        try:
            patiently(lambda: _check_there(connection, store))
            patiently(lambda: _check_no_workers(connection, store))
            count = _jobs(store, progress)
            _threads(store)
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
    count = 0
    while rows := store.call(c.ListJobs(_PAGE)):
        for row in rows:
            _end(store, row)
            store.call(c.DeleteJob(row.id))
            count += 1
        progress("deleted", count)
    return count


def _end(store: SqliteStore, row: JobRow) -> None:
    if row.state not in ENDED:
        store.call(c.Cancel(row.id))


def _threads(store: SqliteStore) -> None:
    while names := store.call(c.Threads(_PAGE)):
        for name in names:
            while store.call(c.DeleteThread(name)).next >= 0:
                pass


def _rows(connection: sqlite3.Connection, namespace: str) -> None:
    """What is left: events, declarations, items, groups, keys. In one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for table in _tables(connection):
            connection.execute(f"DELETE FROM {table} WHERE namespace = ?", (namespace,))
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
