"""The embedded store: one SQLite file, any number of threads and processes."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from anyio import to_thread

from ...contracts.errors import BadSetup, Overloaded, Unreachable
from ..bell import Bell
from ..commands import Claim, Command
from ..operations import READING, run
from ..rows import SCHEMA_VERSION
from ..store import Topic, Watch, rings
from .forks import ForkLock, leave_alone
from .records import SqliteRecords
from .watch import SqliteWatch

R = TypeVar("R")
_APPLICATION_ID = 0x42544E50  # "BTNP", so that another program's database is not taken for ours
_BUSY_DEADLINE = 30.0  # seconds that a write waits for its turn before `Overloaded`
# One bell per file, so that threads of one process wake each other at once.
_BELLS: dict[str, Bell] = {}


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000


class SqliteStore:
    """A SQLite database in WAL mode with synchronous=FULL: a commit that returned survives kill -9 and power loss."""

    def __init__(self, path: str, namespace: str, *, clock: Callable[[], int] = _milliseconds) -> None:
        self.path = os.path.abspath(path)
        self.url = f"sqlite:///{path}"
        self._given = path
        self._namespace = namespace
        self._clock = clock
        self._lock = ForkLock()
        self._connection: sqlite3.Connection | None = None
        self._pid = 0
        self._bell = _BELLS.setdefault(self.path, Bell())

    def call(self, command: Command[R]) -> R:
        """Carry a command out in one transaction."""
        with self._lock:
            connection = self._connected()
            try:
                answer = self._transact(connection, command)
            except sqlite3.OperationalError as error:
                raise _unavailable(error, self.path) from error
            except sqlite3.DatabaseError as error:
                raise Unreachable(f"{self.path} can't be used: {error}") from error
        if rings(command, answer):
            self._bell.ring()
        return answer

    async def acall(self, command: Command[R]) -> R:
        """`call` in a thread, so that the loop does not wait for the disk."""
        return await to_thread.run_sync(self.call, command)

    def _transact(self, connection: sqlite3.Connection, command: Command[R]) -> R:
        if self._nothing_to_claim(connection, command):
            return cast("R", [])  # an idle worker must not queue for the write lock
        try:
            if type(command) in READING:
                connection.execute("BEGIN")
            else:
                _begin_writing(connection)
            answer = run(SqliteRecords(connection, self._namespace, self._clock()), command)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return answer

    def _nothing_to_claim(self, connection: sqlite3.Connection, command: Command[Any]) -> bool:
        if not isinstance(command, Claim):
            return False
        marks = ", ".join("?" * len(command.queues))
        row = connection.execute(
            f"SELECT 1 FROM job WHERE namespace = ? AND queue IN ({marks}) AND ready > 0 LIMIT 1",
            (self._namespace, *(queue for queue, _ in command.queues)),
        ).fetchone()
        return row is None

    async def acall_after(self, watch: Watch, timeout: float, command: Command[R]) -> R:
        """Wait, then carry a command out."""
        await watch.await_(timeout)
        return await self.acall(command)

    def watch(self, topic: Topic) -> SqliteWatch:
        """Wakes at once for this process's changes, within some ms for others'."""
        return SqliteWatch(self._bell, self._connect)

    def sibling(self) -> SqliteStore:
        """Another connection to the same file."""
        return SqliteStore(self._given, self._namespace, clock=self._clock)

    def open(self) -> None:
        """Open the file, making it and its tables when it is new."""
        with self._lock:
            self._connected()

    async def aopen(self) -> None:
        await to_thread.run_sync(self.open)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    async def aclose(self) -> None:
        await to_thread.run_sync(self.close)

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and self._pid != os.getpid():
            leave_alone(self._connection)
            self._connection = None
        if self._connection is None:
            self._connection = self._connect()
            self._pid = os.getpid()
            _prepare(self._connection, self.path)
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        if not Path(self.path).parent.is_dir():
            raise Unreachable(f"there is no folder {Path(self.path).parent} for the store {self.url}: make it first")
        try:
            return sqlite3.connect(
                self.path, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=256
            )
        except sqlite3.OperationalError as error:
            raise Unreachable(f"{self.path} can't be opened: {error}") from error


def _begin_writing(connection: sqlite3.Connection) -> None:
    """Take the write lock."""
    _insist(connection, "BEGIN IMMEDIATE")


def _insist(connection: sqlite3.Connection, statement: str) -> None:
    """Wait for other connections, with jitter: SQLite's own waiting backs off to 100 ms, is unfair, and does not help
    those who switch a new file to WAL at the same time."""
    deadline = time.monotonic() + _BUSY_DEADLINE
    pause = 0.0005
    while True:
        try:
            connection.execute(statement)
            return
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(0, pause))
        pause = min(pause * 1.5, 0.01)


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _unavailable(error: sqlite3.OperationalError, path: str) -> Exception:
    if _is_busy(error):
        return Overloaded(f"{path} was busy for {_BUSY_DEADLINE:.0f} s: nothing was written, try again")
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
        return Overloaded(f"no space left for {path}: nothing was written, free some and try again")
    return Unreachable(f"{path} can't be used: {error}")


def _prepare(connection: sqlite3.Connection, path: str) -> None:
    """Set the connection up, and the tables if the file is new."""
    try:
        _insist(connection, "PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        _begin_writing(connection)
        try:
            _make_tables(connection, path)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        raise _unavailable(error, path) from error
    except sqlite3.DatabaseError as error:
        raise BadSetup(f"{path} is not a Batonpass store: {error}") from error


def _make_tables(connection: sqlite3.Connection, path: str) -> None:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    tables: int = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and application != _APPLICATION_ID:
        raise BadSetup(f"{path} is another program's database: choose another file")
    if version > SCHEMA_VERSION:
        raise BadSetup(f"{path} was made by a newer Batonpass (schema {version}, this one knows {SCHEMA_VERSION})")
    if tables:
        return
    schema = Path(__file__).with_name("sql") / "schema.sql"
    for statement in schema.read_text(encoding="utf-8").split(";"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
