"""The embedded store: one SQLite file, any number of threads and processes."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

from anyio import CancelScope, sleep, to_thread

from ...contracts.lean import dataclass
from ..backup import Progress
from ..bell import Bell
from ..checkup import Examined, Load, Shares
from ..closing import end_all
from ..coded.codec import Codec
from ..commands import READING, Claim, Claimed, Command, Freed, Put, TakeEvents, Taken
from ..lifetime import Lifetime
from ..loops import PerLoop
from ..operations import run
from ..operations.groups import nothing_to_take
from ..operations.pausing import all_paused
from ..operations.upkeep import due_in
from ..store import KEPT_EVENTS, Behind, Topic, Watch, host_clock, rings
from .backups import copy_file
from .batch_thread import BatchThread
from .checkup import by_agent, count, examine, examine_pages
from .disk import Disk
from .file import open_store_file, warn_of_network
from .file_watcher import FileWatcher
from .group_commit import GroupCommit
from .handle import Handle
from .moved import check_not_moved, warn_if_moved
from .records import SqliteRecords
from .schema import check_not_newer
from .there import There
from .troubles import in_our_words
from .waiting import Courtesy, patiently
from .wal import WalKeeper
from .watch import SqliteWatch

R = TypeVar("R")
# One bell per file, so that threads of one process wake each other at once.
_BELLS: WeakValueDictionary[str, Bell] = WeakValueDictionary()


def _is_soon(command: Command[Any]) -> bool:
    return isinstance(command, Put) and command.soon


@dataclass(slots=True)
class _Behind:
    disk: Disk
    syncer: BatchThread[int]
    commit: int

    def settle(self) -> None:
        self.disk.wait(self.commit)

    async def asettle(self) -> None:
        if not self.disk.has(self.commit):
            await self.syncer.ask(self.commit)


class SqliteStore:
    """A SQLite database in WAL mode: a write that returned survives kill -9 and power loss.

    Readers have a connection of their own, and don't wait for the disk or for other processes' writes.
    """

    codec: Codec | None = None
    kept_events = KEPT_EVENTS

    def __init__(self, path: str, namespace: str, *, clock: Callable[[], int] = host_clock) -> None:
        self._named = os.path.abspath(path)
        self.path = os.path.realpath(path)  # behind links: SQLite keeps the log beside the file
        self.url = f"sqlite:///{path}"
        self.namespace = namespace
        self._clock = clock
        self.lifetime = Lifetime()
        self._there = There(self._named, self.path)
        self._reading = Handle(self._connect)
        self._writing = Handle(self._connect)
        self._disk = Disk(self.path)
        self._commits = GroupCommit(self._writing, self._write, WalKeeper(self.path, self._disk).look, self._disk)
        self._courtesy = Courtesy()
        self._bell = _BELLS.setdefault(self.path, Bell())
        self._watchers = PerLoop(self._new_watcher, FileWatcher.aclose)
        self._reader = BatchThread(self._read_all)
        self._writer = BatchThread(self.write_all)
        self._syncer = BatchThread(self._sync_all)

    def _connect(self) -> sqlite3.Connection:
        self.lifetime.check()
        self._there.look()
        connection = open_store_file(self.path)
        self._there.opened()
        self._there.look()
        return connection

    def _new_watcher(self) -> FileWatcher:
        self.lifetime.check()
        return FileWatcher(self._bell, self.path, self.namespace)

    def call(self, command: Command[R]) -> R:
        """Carry a command out in one transaction."""
        self._there.check()
        began = time.monotonic()
        try:
            answer, told = self._carry_out(command)
        except sqlite3.Error as error:
            raise in_our_words(error, self.path) from error
        if rings(command, answer, told):
            self._bell.ring()
        if isinstance(answer, Freed):
            time.sleep(self._courtesy.pause(began))
        return answer

    async def acall(self, command: Command[R]) -> R:
        """`call` in a thread, so that the loop does not wait for the disk. A command that has begun is completed, so
        that after a task was cancelled, readers see what it wrote."""
        answer: Any = None
        began = time.monotonic()
        with CancelScope(shield=True):
            if type(command) in READING:
                await self._writer.settled()
            answer = await self._ask(command)
            if isinstance(answer, Freed):
                await sleep(self._courtesy.pause(began))
        return cast("R", answer)

    def _ask(self, command: Command[Any]) -> Awaitable[Any]:
        if type(command) in READING:
            return self._reader.ask(command)
        if isinstance(command, Claim | TakeEvents):  # these read first, and rarely write
            return to_thread.run_sync(partial(self.call, command))
        return self._writer.ask(command)

    def _read_all(self, commands: Sequence[Command[Any]]) -> list[Any]:
        return [self._outcome(command) for command in commands]

    def _outcome(self, command: Command[Any]) -> Any:
        try:
            return self.call(command)
        except Exception as error:
            return error

    def write_all(self, commands: Sequence[Command[Any]]) -> list[Any]:
        """Carry writes out in order, some dozens in a transaction. Errors are among the answers."""
        self._there.check()
        done = self._commits.write_all(commands, [_is_soon(command) for command in commands])
        answers = [self._in_our_words(each) if isinstance(each, Exception) else each[0] for each in done]
        if any(self._rings(command, each) for command, each in zip(commands, done, strict=True)):
            self._bell.ring()
        return answers

    def _rings(self, command: Command[Any], done: Any) -> bool:
        return not isinstance(done, Exception) and rings(command, *done)

    def _in_our_words(self, error: Exception) -> Exception:
        if not isinstance(error, sqlite3.Error):
            return error
        said = in_our_words(error, self.path)
        said.__cause__ = error
        return said

    def _sync_all(self, commits: Sequence[int]) -> list[None]:
        self._disk.wait(max(commits))
        return [None] * len(commits)

    def behind(self) -> Behind | None:
        """What is committed, but may not be synced yet."""
        commit = self._disk.committed
        return None if self._disk.has(commit) else _Behind(self._disk, self._syncer, commit)

    def _carry_out(self, command: Command[R]) -> tuple[R, bool]:
        """The answer, and whether it has added events."""
        if type(command) in READING:
            with self._reading as connection:
                return patiently(partial(self._read, connection, command)), False
        if isinstance(command, Claim) and (nothing := self._nothing_to_claim(command)) is not None:
            return cast("R", nothing), False  # an idle worker must not wait for the write lock
        if isinstance(command, TakeEvents) and self._nothing_to_take(command):
            return cast("R", Taken()), False
        answer, told = self._commits.write(command, soon=_is_soon(command))
        return answer, told

    def _read(self, connection: sqlite3.Connection, command: Command[R]) -> R:
        connection.execute("BEGIN")
        try:
            return run(SqliteRecords(connection, self.namespace, self._clock()), command)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _write(self, connection: sqlite3.Connection, command: Command[R]) -> tuple[R, bool]:
        check_not_newer(connection, self.path)
        check_not_moved(connection, self.namespace)
        records = SqliteRecords(connection, self.namespace, self._clock())
        return run(records, command), records.told

    def _nothing_to_take(self, command: TakeEvents) -> bool:
        with self._reading as connection:
            records = SqliteRecords(connection, self.namespace, self._clock())
            return patiently(lambda: nothing_to_take(records, command))

    def _nothing_to_claim(self, command: Claim) -> Claimed | None:
        marks = ", ".join("?" * len(command.queues))
        pausing = "SELECT 1 FROM pause WHERE namespace = ? AND paused"
        query = f"SELECT EXISTS ({pausing}) FROM job WHERE namespace = ? AND queue IN ({marks}) AND ready > 0 LIMIT 1"
        values = (self.namespace, self.namespace, *(queue for queue, _ in command.queues))
        with self._reading as connection:
            found = patiently(lambda: connection.execute(query, values).fetchone())
            records = SqliteRecords(connection, self.namespace, self._clock())
            if found and not (found[0] and patiently(lambda: all_paused(records, command))):
                return None
            return Claimed(due=patiently(lambda: due_in(records)))

    async def acall_after(self, watch: Watch, timeout: float, command: Command[R]) -> R:
        """Wait, then carry a command out."""
        await watch.await_(timeout)
        return await self.acall(command)

    def watch(self, topic: Topic) -> SqliteWatch:
        """Wakes at once for this process's changes, and within milliseconds for others'."""
        self.lifetime.check()
        return SqliteWatch(self._bell, self.path, self.namespace, self._watchers)

    def sibling(self) -> SqliteStore:
        """Other connections to the same file."""
        made = SqliteStore(self._named, self.namespace, clock=self._clock)  # absolute: the working directory may change
        made.url = self.url
        return made

    def open(self) -> None:
        """Open the file. Makes it and its tables if it is new."""
        with self._writing as connection:
            warn_of_network(self.path)
            warn_if_moved(connection, self.path, self.namespace)

    async def aopen(self) -> None:
        await to_thread.run_sync(self.open)

    def close(self) -> None:
        with self.lifetime.ending() as ends:
            if ends:
                self._watchers.end_soon()
        self._there.forget()  # first: another thread may open it meanwhile
        self._reading.close()
        self._writing.close(self._disk.close)

    async def aclose(self) -> None:
        with self.lifetime.ending() as ends:
            watchers = [self._watchers.take_away()] if ends else []
        await end_all(*watchers, partial(to_thread.run_sync, self.close))

    def examine(self) -> Examined:
        """What the file reports about itself. Makes and migrates nothing."""
        examined = examine(self.path, self.namespace)
        pages = examine_pages(self.path) if examined.opens else ()
        return Examined((*examined.findings, *pages), examined.opens)

    def count(self, queues: Sequence[str]) -> Load:
        """How much is in the namespace."""
        return self._looked(lambda connection: count(connection, self.namespace, queues, self._clock()))

    def by_agent(self) -> Shares:
        """The jobs of each kind by their agents."""
        return self._looked(lambda connection: by_agent(connection, self.namespace))

    def _looked(self, look: Callable[[sqlite3.Connection], R]) -> R:
        try:
            with self._reading as connection:
                return patiently(partial(look, connection))
        except sqlite3.Error as error:
            raise in_our_words(error, self.path) from error

    def backup(self, path: str, progress: Progress | None = None) -> None:
        """Copy the whole file, with all namespaces, to a new file while others write. Needs no `open`."""
        self.lifetime.check()
        copy_file(self.path, os.path.abspath(path), progress)
