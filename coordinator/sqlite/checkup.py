"""Checkup: what a store's file reports about itself, read without making or migrating anything."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from ...contracts.errors import BadSetup, BatonpassError
from .. import checkup
from ..checkup import Examined, Finding, Load, Queued, Shares, shares_of, size
from ..rows import BEHIND
from .file import network_danger, open_file
from .moved import check_not_moved
from .schema import check_ours, latest
from .troubles import at_opening, damaged, in_our_words, obstacle
from .waiting import patiently

# Bytes left on the disk below which to warn, and below which hardly any command can write.
_LITTLE, _NOTHING = 200_000_000, 100_000


def examine(path: str, namespace: str) -> Examined:
    """Look at the file, and at a namespace in it. If the file does not exist, it is not made."""
    if why := obstacle(path):
        return Examined((Finding("fail", "file", f"{path} can't be opened: {why}"),), opens=False)
    if not os.path.exists(path):
        text = f"there is no file {path}: is it the right one? The first worker makes it"
        return Examined((Finding("fail", "file", text),), opens=False)
    disk = tuple(_disk(path))
    try:
        version = _version(path)
    except BatonpassError as error:
        return Examined((*disk, Finding("fail", "file", str(error))), opens=False)
    opens = version == latest()
    return Examined((*disk, _schema(version), *(_moved(path, namespace) if opens else ())), opens)


def examine_pages(path: str) -> tuple[Finding, ...]:
    """What is wrong with the file's pages. Reads all of them, since commands only notice damage in those that they
    read, and that may be long after the last good backup was thrown away."""
    try:
        with closing(open_file(path, "rw")) as connection:
            found: str = patiently(lambda: connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as error:
        return (Finding("fail", "pages", str(in_our_words(error, path))),)
    except BatonpassError as error:
        return (Finding("fail", "pages", str(error)),)
    if found != "ok":
        return (Finding("fail", "pages", str(damaged(path, " ".join(found.split())))),)
    return (Finding("ok", "pages", "all can be read"),)


_WHICH = {
    "running": "lease_until > 0",
    "timed": "due > 0",
    "asking": "state = 'input_required'",
    "dead": "state = 'failed'",
    "limited": "waits > 0",
}


def by_agent(connection: sqlite3.Connection, namespace: str) -> Shares:
    """The jobs of each kind by their agents. Uses indexes."""
    agents: dict[str, list[str | None]] = {}
    totals: dict[str, int] = {}
    for kind, which in _WHICH.items():
        some = f"SELECT agent FROM job WHERE namespace = ? AND {which} LIMIT ?"
        agents[kind] = [row[0] for row in connection.execute(some, (namespace, checkup.SHARED_OUT))]
        few = len(agents[kind]) < checkup.SHARED_OUT
        totals[kind] = 0 if few else _one(connection, f"FROM job WHERE namespace = ? AND {which}", namespace)
    return shares_of(agents, totals)


def count(connection: sqlite3.Connection, namespace: str, queues: Sequence[str], now: int) -> Load:
    """Count what is in a namespace. Uses indexes, except for the total of jobs."""
    wanted = ("1", *(_WHICH[kind] for kind in ("running", "timed", "asking", "dead")))
    jobs, running, timed, asking, dead = (
        _one(connection, f"FROM job WHERE namespace = ? AND {each}", namespace) for each in wanted
    )
    there: dict[str, Queued] = {}
    for queue in queues:
        ready = "FROM job WHERE namespace = ? AND queue = ? AND ready > 0"
        waiting = _one(connection, ready, namespace, queue)
        # Of those that go ahead, as redelivered ones do, and of the others, each in their own order.
        first = f"SELECT updated {ready} AND ready >= ? ORDER BY ready LIMIT 1"
        firsts = [connection.execute(first, (namespace, queue, place)).fetchone() for place in (1, BEHIND)]
        since = min((row[0] for row in firsts if row), default=now)
        alive = "SELECT worker FROM presence WHERE namespace = ? AND queue = ? AND until > ?"
        workers = frozenset(row[0] for row in connection.execute(alive, (namespace, queue, now)))
        there[queue] = Queued(waiting, max(now - since, 0), workers)
    return Load(jobs, running, timed, asking, dead, there, now)


def _one(connection: sqlite3.Connection, condition: str, *values: str) -> int:
    return int(connection.execute(f"SELECT count(*) {condition}", values).fetchone()[0])


def _version(path: str) -> int:
    with closing(open_file(path)) as connection:
        try:
            return patiently(lambda: check_ours(connection, path))
        except sqlite3.Error as error:
            raise at_opening(error, path) from error


def _moved(path: str, namespace: str) -> Iterator[Finding]:
    with closing(open_file(path)) as connection:
        try:
            patiently(lambda: check_not_moved(connection, namespace))
        except BadSetup as error:
            yield Finding("fail", "namespace", str(error))
        except sqlite3.Error as error:
            yield Finding("fail", "namespace", str(in_our_words(error, path)))


def _disk(path: str) -> Iterator[Finding]:
    kept = sum(os.path.getsize(each) for each in (path, f"{path}-wal") if os.path.exists(each))
    left = shutil.disk_usage(Path(path).parent).free
    text = f"{size(kept)}, {size(left)} left on its disk; a commit is on the disk before it is acknowledged"
    yield Finding("ok", "file", text)
    if left < _NOTHING:
        text = f"the disk of {path} is full: workers, submits and `batonpass prune` can't write: free some"
        yield Finding("fail", "file", text)
    elif left < _LITTLE:
        yield Finding("warn", "file", f"the disk of {path} is nearly full: free some space, or use `batonpass prune`")
    if danger := network_danger(path):
        yield Finding("warn", "file", f"{path} {danger}")


def _schema(version: int) -> Finding:
    if version == latest():
        return Finding("ok", "schema", f"{version}")
    if version == 0:
        return Finding("warn", "schema", "the file is empty: the first worker creates the store in it")
    text = f"an older Batonpass made it (schema {version}; this one's is {latest()}): it is migrated when it is opened"
    return Finding("warn", "schema", f"{text}, by a worker or any other command. Make a backup first")
