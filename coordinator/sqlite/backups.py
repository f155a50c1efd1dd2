"""Backups: a copy of the file as it was at one moment, made while others write."""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from ...contracts.errors import BadSetup, NotFound
from ..backup import Progress
from ..new_file import begin_private, put_in_place, sync
from .file import open_file
from .handle import Handle
from .schema import check_ours
from .troubles import at_opening, damaged, in_our_words, obstacle
from .waiting import patiently

_PAGES = 2000  # how many are copied between two calls of the progress function


def copy_file(source: str, target: str, progress: Progress | None) -> None:
    """Copy a store's file. The copy appears under its name when it is complete, checked and on the disk."""
    if not os.path.exists(source) and not obstacle(source):
        raise NotFound(f"there is no store in {source} to back up")
    _refuse_what_is_there(target)
    part = f"{target}.part-{secrets.token_hex(4)}"
    handle = Handle(partial(open_file, source))
    try:
        with handle as connection:
            _copy(connection, source, part, progress)
        sync(part)
        try:
            put_in_place(part, target)
        except FileExistsError:
            _refuse_what_is_there(target)
    finally:
        handle.close()
        for beside in ("", "-wal", "-shm", "-journal"):  # if the disk is full, SQLite leaves these behind
            with suppress(FileNotFoundError):
                os.unlink(f"{part}{beside}")


def _refuse_what_is_there(target: str) -> None:
    if not Path(target).parent.is_dir():
        raise BadSetup(f"there is no folder {Path(target).parent} for the backup: create it first")
    # SQLite would take a leftover log for the copy's own.
    for path in (target, f"{target}-wal", f"{target}-journal"):
        if os.path.lexists(path):
            raise BadSetup(f"{path} already exists, and a backup never overwrites a file: choose another name")


def _copy(connection: sqlite3.Connection, source: str, part: str, progress: Progress | None) -> None:
    try:
        patiently(partial(_begin_reading, connection, source))
        size: int = connection.execute("PRAGMA page_size").fetchone()[0]
    except sqlite3.Error as error:
        raise at_opening(error, source) from error

    def tell(status: int, left: int, pages: int) -> None:
        if progress is not None:
            progress((pages - left) * size, pages * size)

    begin_private(part)
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as copy:
            connection.backup(copy, pages=_PAGES, progress=tell)
            found = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        raise in_our_words(error, part) from error
    finally:
        connection.execute("ROLLBACK")
    if found != "ok":
        raise damaged(source, found)


def _begin_reading(connection: sqlite3.Connection, source: str) -> None:
    """Hold on to the state that is being copied, or every write of others would make the copy begin again."""
    connection.execute("BEGIN")
    try:
        check_ours(connection, source)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
