"""GroupCommit: the writes of a process's threads share transactions.

While one writes, others queue up. Whoever gets the connection next carries out the whole queue, in one
transaction. If a write is refused, only that one is undone. None is answered before the commit is on the disk.
"""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ...contracts.lean import dataclass
from ..commands import Command
from .disk import Disk
from .handle import Handle
from .waiting import patiently

_LONGEST = 50  # writes in one transaction


@dataclass(slots=True, eq=False)
class _Entry:
    command: Command[Any]
    pid: int  # a fork copies the queue, but not the threads that wait in it
    ended: bool = False
    commit: int = 0
    answer: Any = None
    error: Exception | None = None


class GroupCommit:
    """`carry_out` runs one command in an open transaction; `committed` is called after each.

    Writes are acknowledged when `disk` has synced them.
    """

    def __init__(
        self,
        handle: Handle,
        carry_out: Callable[[sqlite3.Connection, Command[Any]], Any],
        committed: Callable[[sqlite3.Connection], None],
        disk: Disk,
    ) -> None:
        self._handle = handle
        self._carry_out = carry_out
        self._committed = committed
        self._disk = disk
        self._waiting: deque[_Entry] = deque()
        self._alone = 0  # how many of the next ones get a transaction of their own

    def write(self, command: Command[Any], *, soon: bool = False) -> Any:
        """Carry a command out, in a transaction that others may share. With `soon`, returns once it is committed,
        synced or not."""
        [entry] = self._commit([command])
        if entry.error is not None:
            raise entry.error
        if not soon:
            self._disk.wait(entry.commit)
        return entry.answer

    def write_all(self, commands: Sequence[Command[Any]], soon: Sequence[bool]) -> list[Any]:
        """`write` for several commands. Errors are among the answers."""
        entries = self._commit(commands)
        waits = [entry.commit for entry, early in zip(entries, soon, strict=True) if not early and entry.error is None]
        self._disk.wait(max(waits, default=0))
        return [entry.error or entry.answer for entry in entries]

    def _commit(self, commands: Sequence[Command[Any]]) -> list[_Entry]:
        entries = [_Entry(command, os.getpid()) for command in commands]
        self._waiting.extend(entries)
        try:
            with self._handle as connection:
                while not all(entry.ended for entry in entries):
                    self._serve(connection)
        finally:
            for entry in entries:
                if not entry.ended:
                    with suppress(ValueError):  # its caller has been interrupted: nobody may carry it out later
                        self._waiting.remove(entry)
        return entries

    def _serve(self, connection: sqlite3.Connection) -> None:
        """One transaction, for all who wait once the write lock is ours."""
        entries: list[_Entry] = []
        try:
            patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
            self._call_up(entries)
            self._transact(connection, entries)
        except sqlite3.Error as error:
            _roll_back(connection)
            self._failed(entries, error)
        except BaseException:  # this thread was interrupted: the others go back to the queue, unless it was committed
            if connection.in_transaction:
                _roll_back(connection)
                self._waiting.extendleft(reversed(entries))
            else:
                self._done(connection, entries)
            raise
        else:
            self._done(connection, entries)
            self._committed(connection)

    def _call_up(self, entries: list[_Entry]) -> None:
        most = 1 if self._alone else _LONGEST
        self._alone = max(0, self._alone - 1)
        while self._waiting and len(entries) < most:
            entry = self._waiting.popleft()
            if entry.pid == os.getpid():
                entries.append(entry)

    def _transact(self, connection: sqlite3.Connection, entries: list[_Entry]) -> None:
        shared = len(entries) > 1
        for entry in entries:
            entry.error = None  # it was from a transaction that failed
            if shared:
                connection.execute("SAVEPOINT entry")
            try:
                entry.answer = self._carry_out(connection, entry.command)
            except sqlite3.Error:
                raise
            except Exception as error:
                entry.error = error
                connection.execute("ROLLBACK TO entry" if shared else "ROLLBACK")
            if shared:
                connection.execute("RELEASE entry")
        if connection.in_transaction:
            connection.execute("COMMIT")

    def _done(self, connection: sqlite3.Connection, entries: list[_Entry]) -> None:
        commit = self._disk.noted(connection)
        for entry in entries:
            entry.commit = commit
        _end(entries)

    def _failed(self, entries: list[_Entry], error: sqlite3.Error) -> None:
        if not entries:
            self._call_up(entries)  # all of them wait for the same lock
        elif len(entries) > 1:  # too much for one transaction (on a full disk, say), but parts of it may succeed
            self._alone = len(entries)
            self._waiting.extendleft(reversed(entries))
            return
        _end(entries, error)


def _end(entries: list[_Entry], error: Exception | None = None) -> None:
    for entry in entries:
        entry.error = error or entry.error
        entry.ended = True


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:  # after some errors, SQLite has already rolled back
        connection.execute("ROLLBACK")
