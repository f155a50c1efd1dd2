"""Schema: the file's tables, and the migrations that make them.

`sql/` has a file for each version of the schema. `001_...sql` makes the first, and each later one migrates from the
version before. Each runs in one transaction under the write lock, so a crash leaves the version before intact, and any
number of processes may try at once. A file that was released is never changed. `sql/indexes.sql` has indexes that don't
count as a version, and without which a store can be used.
"""

from __future__ import annotations

import logging
import math
import re
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from ...contracts.errors import BadSetup
from . import waiting

_APPLICATION_ID = 0x42544E50  # "BTNP": tells our files from other programs' databases
# In one statement, which sees one moment, because another process may just be making the tables.
_WHAT_IT_IS = (
    "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) "
    "FROM pragma_user_version, pragma_application_id"
)
FOLDER = Path(__file__).with_name("sql")
_NAMED = re.compile(r"CREATE INDEX IF NOT EXISTS (\w+)")
_PATIENCE = 2.0  # seconds to wait for the write lock to make indexes, once for each file
_LACKING: set[str] = set()
"""The files whose indexes could not be made."""
_log = logging.getLogger("batonpass.store")


@cache
def migrations(folder: Path) -> dict[int, Path]:
    """The files of a folder, by the version that each makes, in order."""
    return {int(file.name.partition("_")[0]): file for file in sorted(folder.glob("[0-9]*_*.sql"))}


@cache
def latest(folder: Path = FOLDER) -> int:
    """The version that this Batonpass makes."""
    return max(migrations(folder))


def bring_up_to_date(connection: sqlite3.Connection, path: str, folder: Path = FOLDER) -> None:
    """Make or migrate the tables. `BadSetup` if the file is another program's, or from a newer Batonpass."""
    while waiting.patiently(lambda: check_ours(connection, path, folder)) < latest(folder):
        with _alone(connection):
            # Another process may have done it while we waited.
            version = check_ours(connection, path, folder)
            if version < latest(folder):
                _migrate(connection, version + 1, migrations(folder)[version + 1])
    if (indexes := folder / "indexes.sql").exists():
        _try_to_add(connection, path, list(statements(indexes.read_text(encoding="utf-8"))))


@contextmanager
def _alone(connection: sqlite3.Connection, patience: float = math.inf) -> Generator[None]:
    """A transaction under the write lock."""
    waiting.patiently(lambda: connection.execute("BEGIN IMMEDIATE"), patience)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _try_to_add(connection: sqlite3.Connection, path: str, wanted: list[str]) -> None:
    """Make the indexes that a file of an older Batonpass lacks. If it can't be written now, it can still be read."""
    try:
        _add(connection, wanted, 0 if path in _LACKING else _PATIENCE)
        _LACKING.discard(path)
    except sqlite3.Error as error:
        if path not in _LACKING:
            _log.warning("%s: lists are slower, because indexes can't be made now: %s", path, error)
        _LACKING.add(path)


def _add(connection: sqlite3.Connection, wanted: list[str], patience: float) -> None:
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
    if not there >= set(_NAMED.findall("".join(wanted))):
        with _alone(connection, patience):
            for statement in wanted:
                connection.execute(statement)


def check_ours(connection: sqlite3.Connection, path: str, folder: Path = FOLDER) -> int:
    """The file's version, 0 if it is new. `BadSetup` if it is not ours."""
    version, application, tables = connection.execute(_WHAT_IT_IS).fetchone()
    if (tables or version or application) and application != _APPLICATION_ID:
        raise BadSetup(f"{path} is another program's database: choose another file")
    _check_known(path, version, latest(folder))
    return int(version)


def check_not_newer(connection: sqlite3.Connection, path: str) -> None:
    """Within a transaction: refuse to write if a newer Batonpass has migrated the file since it was opened."""
    _check_known(path, connection.execute("PRAGMA user_version").fetchone()[0], latest())


def _check_known(path: str, version: int, known: int) -> None:
    if version > known:
        raise BadSetup(
            f"{path} was made by a newer Batonpass (schema {version}, this one knows {known}): install that version "
            "here"
        )


def _migrate(connection: sqlite3.Connection, version: int, file: Path) -> None:
    for statement in statements(file.read_text(encoding="utf-8")):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version}")


def statements(text: str) -> Iterator[str]:
    """The statements of a script, one by one, because `executescript` would first commit the open transaction."""
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
