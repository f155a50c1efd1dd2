"""Line: the writes of a process's threads, which share transactions.

While one writes more writes come. Whoever gets the connection next carries out all that stand in line, in one
transaction. Each write is undone alone if it is refused, and none is answered before the commit is on the disk.
"""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..commands import Command
from .disk import Disk
from .handle import Handle
from .waiting import patiently

_LONGEST = 50  # writes in one transaction


@dataclass(slots=True, eq=False)
class _Entry:
    command: Command[Any]
    pid: int  # a fork copies the line, but not the threads that stand in it
    ended: bool = False
    commit: int = 0
    answer: Any = None
    error: Exception | None = None


class Line:
    """`carry_out` runs one command in an open transaction; `committed` is called after each.

    Acknowledged is what `disk` has kept.
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
        self._alone = 0  # so many get a transaction of their own next

    def write(self, command: Command[Any], *, soon: bool = False) -> Any:
        """Carry a command out in a transaction that others may share; answers or raises what that did. `soon`: when it
        is committed, whether the disk has it or not."""
        [entry] = self._commit([command])
        if entry.error is not None:
            raise entry.error
        if not soon:
            self._disk.wait(entry.commit)
        return entry.answer

    def write_all(self, commands: Sequence[Command[Any]], soon: Sequence[bool]) -> list[Any]:
        """`write` for several. What is raised is among the answers."""
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
                    with suppress(ValueError):  # its caller goes away: nobody may carry it out later
                        self._waiting.remove(entry)
        return entries

    def _serve(self, connection: sqlite3.Connection) -> None:
        """One transaction, of those who stand in line when the write lock is ours."""
        entries: list[_Entry] = []
        try:
            patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
            self._call_up(entries)
            self._transact(connection, entries)
        except sqlite3.Error as error:
            _roll_back(connection)
            self._failed(entries, error)
        except BaseException:  # whoever leads is interrupted: the others stand in line again, unless it was done
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
            entry.error = None  # of a transaction that came to nothing
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
            self._call_up(entries)  # they all wait for the same lock
        elif len(entries) > 1:  # what does not fit as a whole (on a full disk, say) may fit in part
            self._alone = len(entries)
            self._waiting.extendleft(reversed(entries))
            return
        _end(entries, error)


def _end(entries: list[_Entry], error: Exception | None = None) -> None:
    for entry in entries:
        entry.error = error or entry.error
        entry.ended = True


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:  # SQLite has rolled back by itself after some errors
        connection.execute("ROLLBACK")
