"""Troubles: SQLite's errors in our words, with what to do about each."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from ...contracts.errors import BadSetup, BatonpassError, Conflict, Corrupted, Overloaded, Unreachable
from . import waiting

# SQLITE_ERROR is that what a statement names is not in the schema: it was, when the file was made.
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
_NO_TEXT = "Could not decode to UTF-8"  # Python's own error, without a code
_MAY_NOT = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)


def in_our_words(error: sqlite3.Error, path: str) -> BatonpassError:
    """Our error for one of SQLite's."""
    code = waiting.code_of(error)
    if waiting.is_busy(error):
        return Overloaded(
            f"{path} was busy for {waiting.BUSY_DEADLINE:g} s: nothing was written, try again. If this persists, a "
            "stopped process (Ctrl-Z, a debugger) or another program holds its lock: let it continue, or end it"
        )
    if code == sqlite3.SQLITE_FULL:
        return Overloaded(f"no space left for {path}: nothing was written, free some and try again")
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
        return Conflict(f"another namespace of {path} has the same ids, which are unique in a file: use another file")
    if code in _DAMAGED or str(error).startswith(_NO_TEXT):
        return damaged(path, str(error))
    if code == sqlite3.SQLITE_IOERR:
        return Unreachable(f"the disk of {path} failed ({error}): look at its space, quota and health")
    if code in _MAY_NOT:
        return Unreachable(f"{path} can't be opened: {obstacle(path) or error}")
    return Unreachable(f"{path} can't be used: {error}")


def at_opening(error: sqlite3.Error, path: str) -> BatonpassError:
    """`in_our_words` for a file that may be another one than was meant."""
    if waiting.code_of(error) == sqlite3.SQLITE_NOTADB:
        return BadSetup(f"{path} is not a Batonpass store: {error}")
    return in_our_words(error, path)


def damaged(path: str, how: str) -> Corrupted:
    """The error for a damaged file."""
    return Corrupted(
        f"{path} is damaged ({how}): stop what uses it, then put a backup in its place, "
        f"or rescue what can be read with `sqlite3 {path} .recover`"
    )


def obstacle(path: str) -> str:
    """Why this process can't write the file, "" if no reason is found."""
    folder = Path(path).parent
    try:
        os.stat(path)
    except PermissionError:
        return f"this user may not look into {folder}, change its permissions"
    except OSError:
        if not os.path.isdir(folder):
            return f"there is no folder {folder}, make it first"
    if os.path.isdir(path):
        return "it is a folder, name a file in it"
    if hasattr(os, "statvfs") and os.statvfs(folder).f_flag & os.ST_RDONLY:
        there = ", and even reading needs two files beside it: copy it elsewhere" if os.path.exists(path) else ""
        return f"its file system is read-only{there}"
    for file in (path, f"{path}-wal", f"{path}-shm"):
        if os.path.exists(file) and not os.access(file, os.R_OK | os.W_OK):
            return f"this user may not read and write {file}, change its permissions or its owner"
    if not os.access(folder, os.W_OK):
        return f"this user may not write in {folder}, where SQLite keeps two more files beside it"
    return ""
