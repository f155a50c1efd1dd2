"""Sources: databases of LangGraph's own savers, read through these savers and never written to."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Union, cast

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from ....contracts.errors import BadSetup, BatonpassError, Corrupted, MissingExtra, Unreachable
from ..configs import config_of
from ..serde.values import TypeName
from .strict import KEY, StrictSerializer

if TYPE_CHECKING:
    from psycopg import Connection

# The fields that checkpoints have had since LangGraph's first format.
_FIELDS = frozenset({"v", "id", "ts", "channel_values", "channel_versions", "versions_seen"})
_KEYS = ("thread_id", "checkpoint_ns", "checkpoint_id")


Database = Union["sqlite3.Connection", "Connection[Any]"]


class Stored(NamedTuple):
    """Where a checkpoint is in a thread."""

    scope: str
    key: str
    parent: str


class Written(NamedTuple):
    """What a task wrote on a checkpoint."""

    task: str
    path: str
    number: int
    channel: str
    value: Any


@dataclass(frozen=True, slots=True)
class _Tables:
    writes: str
    value: str
    mark: str


_SQLITE = _Tables("writes", "value", "?")
_POSTGRES = _Tables("checkpoint_writes", "blob", "%s")


class Source:
    """A database. Its saver reads the checkpoints. Their list, and the tasks' paths, are read from its tables."""

    def __init__(
        self,
        saver: BaseCheckpointSaver[Any],
        connection: Database,
        tables: _Tables,
    ) -> None:
        self._saver = saver
        self._connection = connection
        self._tables = tables

    def threads(self) -> dict[str, int]:
        """All threads, and how many checkpoints each has."""
        counted = self._rows("SELECT thread_id, count(*) FROM checkpoints GROUP BY thread_id ORDER BY thread_id")
        return {str(thread): count for thread, count in counted}

    def checkpoints(self, thread: str) -> list[Stored]:
        """A thread's checkpoints in the order of their ids, but none before its parent."""
        rows = self._rows(
            "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints WHERE thread_id = ? "
            "ORDER BY checkpoint_id, checkpoint_ns",
            thread,
        )
        return _parents_first([Stored(scope, key, parent or "") for scope, key, parent in rows])

    def get(self, thread: str, at: Stored) -> CheckpointTuple:
        """A checkpoint as LangGraph returns it. `Corrupted` says what can't be read or restored."""
        with self._reading():
            found = self._saver.get_tuple(config_of(thread, at.scope, at.key))
        if found is None:
            raise Corrupted("it was deleted while the import ran")
        stored: Any = found.checkpoint
        lacking = sorted(_FIELDS - cast("dict[str, Any]", stored).keys() if isinstance(stored, dict) else _FIELDS)
        if lacking:
            raise Corrupted(f"it is not a checkpoint: it has no {', '.join(lacking)}")
        return found

    def writes(self, thread: str, at: Stored) -> list[Written]:
        """What was written on a checkpoint."""
        rows = self._rows(
            f"SELECT task_id, task_path, idx, channel, type, {self._tables.value} FROM {self._tables.writes} "
            "WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? ORDER BY task_id, idx",
            thread,
            at.scope,
            at.key,
        )
        with self._reading():
            return [
                Written(task, path, index, channel, self._saver.serde.loads_typed((kind, value)))
                for task, path, index, channel, kind, value in rows
            ]

    def _rows(self, query: str, *parameters: str) -> Sequence[tuple[Any, ...]]:
        with self._reading():
            return rows_of(self._connection, query.replace("?", self._tables.mark), *parameters)

    @contextmanager
    def _reading(self) -> Generator[None]:
        """An error of the database ends the whole import. Any other error is one of what was read."""
        try:
            yield
        except BatonpassError:
            raise
        except Exception as error:
            if any(kind.__name__ in ("OperationalError", "InterfaceError") for kind in type(error).__mro__):
                raise Unreachable(f"the database can't be read any more: {error}") from error
            raise Corrupted(f"it can't be read: {type(error).__name__}: {error}") from error


def rows_of(connection: Database, query: str, *parameters: str) -> list[tuple[Any, ...]]:
    """What a query finds, each row a tuple."""
    if isinstance(connection, sqlite3.Connection):
        return connection.execute(query, parameters).fetchall()
    with connection.cursor(row_factory=import_module("psycopg.rows").tuple_row) as cursor:
        cursor.execute(query.encode(), parameters)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


@contextmanager
def open_source(name: str, allowed: Collection[TypeName] = ()) -> Generator[Source]:
    """The database that a path or a URL names. `allowed` are types that may be restored besides LangGraph's own."""
    if name.startswith(("postgresql://", "postgres://")):
        with _postgres(name, _serde(allowed)) as source:
            yield source
        return
    with _sqlite(Path(name.removeprefix("sqlite:///")), _serde(allowed)) as source:
        yield source


def _serde(allowed: Collection[TypeName]) -> SerializerProtocol:
    """What reads the values, also encrypted ones if LangGraph's own variable has the key."""
    if KEY not in os.environ:
        return StrictSerializer(allowed)
    try:
        return EncryptedSerializer.from_pycryptodome_aes(serde=StrictSerializer(allowed))
    except ImportError:
        raise MissingExtra(f"{KEY} is set, and decrypting needs a library: pip install pycryptodome") from None
    except ValueError as error:
        raise BadSetup(str(error)) from None


@contextmanager
def _sqlite(path: Path, serde: SerializerProtocol) -> Generator[Source]:
    try:
        from langgraph.checkpoint.sqlite import SqliteSaver
    except ImportError as error:
        raise _missing("langgraph-checkpoint-sqlite", error) from error

    if not path.is_file():
        raise BadSetup(f"there is no file {path}: name a SqliteSaver's database, or a postgresql:// URL")
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, check_same_thread=False)) as connection:
        try:
            columns = {
                table: {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}
                for table in ("checkpoints", "writes")
            }
        except sqlite3.Error as error:
            raise BadSetup(f"{path} can't be read as a SQLite database: {error}") from error
        _check_columns(str(path), columns, _SQLITE)
        if "task_path" not in columns["writes"]:  # older databases have none; the view is not written to the file
            connection.execute("CREATE TEMP VIEW writes AS SELECT *, '' AS task_path FROM main.writes")
        saver = SqliteSaver(connection, serde=serde)
        saver.is_setup = True  # its setup would write
        yield Source(saver, connection, _SQLITE)


@contextmanager
def _postgres(url: str, serde: SerializerProtocol) -> Generator[Source]:
    try:
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg import Connection, Error
        from psycopg.rows import DictRow, dict_row
    except ImportError as error:
        raise _missing("langgraph-checkpoint-postgres 'psycopg[binary]'", error) from error

    try:
        connection = Connection[DictRow].connect(url, autocommit=True, prepare_threshold=0, row_factory=dict_row)
    except Error as error:
        raise Unreachable(f"the PostgreSQL database can't be opened: {error}") from error
    with closing(connection):
        info = connection.info
        where = f"the database {info.dbname} at {info.host}:{info.port}"
        connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
        columns = {
            table: {
                str(name)
                for (name,) in rows_of(
                    connection,
                    "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0",
                    table,
                )
            }
            for table in ("checkpoints", "checkpoint_writes")
        }
        _check_columns(where, columns, _POSTGRES)
        _check_version(where, connection, len(PostgresSaver.MIGRATIONS) - 1)
        yield Source(PostgresSaver(connection, serde=serde), connection, _POSTGRES)


def _check_columns(where: str, columns: dict[str, set[str]], tables: _Tables) -> None:
    needed = {
        "checkpoints": {*_KEYS, "parent_checkpoint_id", "checkpoint", "metadata"},
        tables.writes: {*_KEYS, "task_id", "idx", "channel", "type", tables.value},
    }
    if not columns["checkpoints"]:
        raise BadSetup(f"{where} holds no checkpoints of LangGraph: it has no table of that name")
    for table, names in needed.items():
        lacking = sorted(names - columns[table])
        if lacking:
            raise BadSetup(
                f"{where} is not as LangGraph's saver makes it: its table {table} has no {', '.join(lacking)}. "
                "(Databases of shallow savers, and of other projects' savers, can't be imported)"
            )


def _check_version(where: str, connection: Connection[Any], known: int) -> None:
    [(version,)] = rows_of(connection, "SELECT coalesce(max(v), -1) FROM checkpoint_migrations")
    if version > known:
        raise BadSetup(
            f"{where} has version {version} of its tables, and the installed langgraph-checkpoint-postgres knows "
            f"{known}: update that package"
        )
    if version < known:
        raise BadSetup(
            f"{where} has version {version} of its tables, and can be read from {known} on: run PostgresSaver.setup() "
            "on it, or on a copy"
        )


def _missing(package: str, error: ImportError) -> MissingExtra:
    return MissingExtra(f"importing from this database needs its saver ({error}): pip install {package}")


def _parents_first(found: list[Stored]) -> list[Stored]:
    """The same checkpoints, each after its parent. (Ids of several processes need not be in order.)"""
    waiting = {(each.scope, each.key): each for each in found}
    order: list[Stored] = []
    for each in found:
        line: list[Stored] = []
        at: Stored | None = waiting.pop((each.scope, each.key), None)
        while at is not None:
            line.append(at)
            at = waiting.pop((at.scope, at.parent), None)
        order += reversed(line)
    return order
