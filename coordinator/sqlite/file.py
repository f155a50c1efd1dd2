"""File: opens the database file, with all settings that make a connection safe."""

from __future__ import annotations

import sqlite3
import warnings
from contextlib import suppress
from pathlib import Path

from ...contracts.errors import Unreachable
from ..new_file import begin_private
from ..safety import UnsafeStore
from .disk import SHARED
from .mounts import network_file_system
from .schema import bring_up_to_date
from .troubles import at_opening, in_our_words, obstacle
from .waiting import patiently

# Bytes. A new store has some sixty tables and indexes, each at least a page, and a commit writes every page that it
# changes: with SQLite's usual 4096 an empty file is twice as large, and small saves take longer. With 1024 a thread of
# a graph takes a tenth more, because its rows fill such pages badly, and a state of 20 MB 1.7 times as long to save.
_PAGE = 2048


class _Connection(sqlite3.Connection):
    """A connection that closes itself. From 3.13 on, Python warns of one that was not, which users can't act on."""

    def __del__(self) -> None:
        with suppress(sqlite3.Error):
            self.close()


def open_file(path: str, mode: str = "rwc") -> sqlite3.Connection:
    """A connection that does not wait for locks. `Unreachable` says what is wrong. With `mode` "rw" it makes no
    file. (SQLite gives the two files beside it the same mode.)"""
    if why := obstacle(path):
        raise Unreachable(f"{path} can't be opened: {why}")
    if mode == "rwc":
        begin_private(path)
    try:
        return sqlite3.connect(
            f"{Path(path).as_uri()}?mode={mode}",
            uri=True,
            timeout=0,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            factory=_Connection,
        )
    except sqlite3.Error as error:
        raise in_our_words(error, path) from error


def open_store_file(path: str) -> sqlite3.Connection:
    """A connection to a store in the file. Makes the file if it is new, and migrates one of an older Batonpass."""
    connection = open_file(path)
    try:
        _make_safe(connection, path)
        bring_up_to_date(connection, path)
    except BaseException as error:
        connection.close()
        if not isinstance(error, sqlite3.Error):
            raise
        raise at_opening(error, path) from error
    return connection


def _make_safe(connection: sqlite3.Connection, path: str) -> None:
    """With a write-ahead log, readers don't wait for writers. With FULL, a commit that returned survives a power loss;
    with NORMAL, once `Disk` has synced it."""
    connection.execute(f"PRAGMA page_size = {_PAGE}")  # of a new file; others keep theirs
    mode = patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
    if mode != "wal":
        raise Unreachable(f"{path} can't be used: its file system has no shared memory for a write-ahead log")
    connection.execute("PRAGMA wal_autocheckpoint = 16000")  # pages; WalKeeper does it earlier
    connection.execute(f"PRAGMA synchronous = {'NORMAL' if SHARED else 'FULL'}")


def warn_of_network(path: str, mounts: Path = Path("/proc/mounts")) -> None:
    """Warn if the file is on a network file system."""
    if danger := network_danger(path, mounts):
        warnings.warn(f"{path} {danger}", UnsafeStore, stacklevel=2)


def network_danger(path: str, mounts: Path = Path("/proc/mounts")) -> str:
    """What may happen to a file on a network file system, where SQLite's locks don't work between machines. "" for
    other file systems."""
    try:
        table = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""  # not Linux
    kind = network_file_system(path, table)
    if not kind:
        return ""
    return (
        f"is on a network file system ({kind}): several machines at once, or a lost connection, can damage it. Keep it "
        "on a local disk, or use Redis"
    )
