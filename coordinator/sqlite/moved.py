"""Moved: the mark of a namespace that `batonpass move` has taken to Redis.

Its rows stay, and can be read. But nothing is written any more, since nobody would find it.
"""

from __future__ import annotations

import sqlite3
import warnings

from ..refusals import Elsewhere, refusal
from ..safety import UnsafeStore
from .troubles import in_our_words
from .waiting import patiently


def check_not_moved(connection: sqlite3.Connection, namespace: str) -> None:
    """Within a transaction: refuse to write to a namespace that was moved."""
    if mark := mark_of(connection, namespace):
        raise refusal("elsewhere", mark)


def warn_if_moved(connection: sqlite3.Connection, path: str, namespace: str) -> None:
    """Warn who opens a namespace that was moved: a reader is refused nothing, but what is there may be out of date."""
    try:
        patiently(lambda: check_not_moved(connection, namespace))
    except Elsewhere as where:
        warnings.warn(f"{path}: {where}", UnsafeStore, stacklevel=2)
    except sqlite3.Error as error:
        raise in_our_words(error, path) from error


def mark_of(connection: sqlite3.Connection, namespace: str) -> str:
    """The mark, "" if there is none."""
    found = connection.execute("SELECT mark FROM moved WHERE namespace = ?", (namespace,)).fetchone()
    return found[0] if found else ""


def mark(connection: sqlite3.Connection, namespace: str, text: str) -> None:
    """Put a mark on a namespace, or with "" take it away."""
    connection.execute("DELETE FROM moved WHERE namespace = ?", (namespace,))
    if text:
        connection.execute("INSERT INTO moved VALUES (?, ?)", (namespace, text))
