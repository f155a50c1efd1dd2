"""A thread that grows: what it keeps, and what saving and reading cost when it is long.

L is what each step adds, once, as the codec packs it: new messages, the rest of the state, what is said of the step.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import redis

import batonpass as bp
from batonpass.contracts.codec import pack, unpack
from batonpass.coordinator.coded.store import CodedStore
from batonpass.coordinator.sync_client import SyncCoordinator
from benchmarks.places import Places
from benchmarks.report import Result
from benchmarks.timing import Comparison, Effort, compare
from tests.harness.texts import message

Saver = Callable[[Any, dict[str, Any], list[Any]], Any]
_PER_STEP = (1, 2)  # messages, in turns: 1.5 a step


def _whole(coordinator: Any, state: dict[str, Any], _: list[Any]) -> Any:
    return coordinator.save(thread="run", agent="chat", state=state, step="step")


def _append(coordinator: Any, state: dict[str, Any], new: list[Any]) -> Any:
    changes = {"round": state["round"]}
    return coordinator.save(thread="run", agent="chat", append={"messages": new}, changes=changes, step="step")


@dataclass
class Grown:
    """A thread after its last step."""

    state: dict[str, Any]
    added: int = 0
    times: list[float] = field(default_factory=list[float])
    packing: list[float] = field(default_factory=list[float])
    checkpoint_id: str = ""


def grow(coordinator: Any, steps: int, save: Saver, *, packs: bool = False) -> Grown:
    """Save a thread step by step. With `packs`, the state is packed and hashed once beside each of the last saves,
    which then find the processor's caches full of it."""
    chance = random.Random(steps)
    grown = Grown({"messages": [], "round": 0, "topic": "incident"})
    for number in range(steps):
        new = [message(chance) for _ in range(_PER_STEP[number % 2])]
        grown.state["messages"] += new
        grown.state["round"] = number
        grown.added += _adds(new, number)
        began = time.perf_counter()
        saved = save(coordinator, grown.state, new)
        grown.times.append(time.perf_counter() - began)
        if packs and number >= steps - 50:
            began = time.perf_counter()
            sha256(pack(grown.state)).digest()
            grown.packing.append(time.perf_counter() - began)
        grown.checkpoint_id = saved.id
    return grown


def _adds(new: list[Any], number: int) -> int:
    """The bytes that a step adds, once."""
    about = ["run", "chat", "step", "python", number, time.time(), "c" * 24, "c" * 24]
    return len(pack(new)) + len(pack({"round": number, "topic": "incident"})) + len(pack(about))


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """On Redis: keys' memory, events apart."""
    with closing(redis.Redis.from_url(places.redis_url)) as client:

        def kept(coordinator: Any) -> int:
            keys = [key for key in client.scan_iter(count=1000) if key.startswith(coordinator.store.prefix.encode())]
            sizes: Any = [client.memory_usage(key, samples=0) for key in keys if not key.endswith(b":events")]
            return sum(sizes)

        def raw(data: bytes) -> Callable[[], Any]:
            client.set(places.mark, data)
            return lambda: unpack(client.get(places.mark))  # type: ignore[arg-type]  # typed for async code too

        def opened(name: str) -> Any:
            return bp.connect(places.redis_url, namespace=f"{places.mark}-{name}")

        return _measured("Redis", effort, opened, kept, raw, bar=2.0)


def on_sqlite(places: Places, effort: Effort) -> list[Result]:
    """On SQLite: the file after a checkpoint of its log, without its event table."""

    with closing(sqlite3.connect(places.sqlite_file("raw"), isolation_level=None)) as db:

        def kept(coordinator: Any) -> int:
            with closing(sqlite3.connect(coordinator.store.path)) as ours:
                ours.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                [events] = ours.execute("SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'event%'").fetchone()
            return os.path.getsize(coordinator.store.path) - int(events)

        def raw(data: bytes) -> Callable[[], Any]:
            db.execute("CREATE TABLE raw (id INTEGER PRIMARY KEY, data BLOB)")
            db.execute("INSERT INTO raw VALUES (1, ?)", (data,))
            return lambda: unpack(db.execute("SELECT data FROM raw WHERE id = 1").fetchone()[0])

        def opened(name: str) -> Any:
            return bp.connect(f"sqlite:///{places.sqlite_file(name)}")

        return _measured("SQLite", effort, opened, kept, raw, bar=1.5)


def _measured(
    where: str,
    effort: Effort,
    opened: Callable[[str], Any],
    kept: Callable[[Any], int],
    raw: Callable[[bytes], Callable[[], Any]],
    *,
    bar: float,
) -> list[Result]:
    steps = effort.steps
    with opened("whole") as coordinator:
        whole = grow(coordinator, steps, _whole, packs=True)
        bytes_kept = kept(coordinator)
        read = _reading(effort, coordinator, whole, raw(pack(whole.state)))
    with opened("append") as coordinator:
        appended = grow(coordinator, steps, _append)
    with opened("long") as coordinator:
        grow(coordinator, 4 * steps, _append)
        long_kept = kept(coordinator)
    last = Comparison()
    last.add_round(whole.times[-50:], whole.packing)
    flat = Comparison()
    flat.add_round(appended.times[-50:], appended.times[25:75])
    per_step = (long_kept / (4 * steps)) / (bytes_kept / steps)
    return [
        Result.figure(f"kept of {steps:,} steps, {where} / L", bytes_kept / whole.added, bar=bar),
        Result.figure(f"kept a step at {4 * steps:,} steps, {where} / at {steps:,}", per_step, bar=1.1),
        Result.compared(f"save of the whole state at {steps:,}, {where} / packing and hashing it", last, bar=2.0),
        Result.compared(f"save with append= at {steps:,}, {where} / at 50", flat, bar=1.3),
        Result.compared(f"restore at {steps:,}, {where} / reading and unpacking it raw", read, bar=1.5),
        *_forks(where, effort, opened, kept),
        _compressed(where, effort, opened, kept),
    ]


def _reading(effort: Effort, coordinator: Any, grown: Grown, raw: Callable[[], Any]) -> Comparison:
    assert coordinator.restore(grown.checkpoint_id).state == grown.state == raw()
    fewer = Effort(rounds=effort.rounds, calls=max(effort.calls // 10, 2))
    return compare(fewer, lambda _: coordinator.restore(grown.checkpoint_id), lambda _: raw())


def _forks(where: str, effort: Effort, opened: Callable[[str], Any], kept: Callable[[Any], int]) -> list[Result]:
    """100 forks from one checkpoint, each with a message of its own."""
    chance = random.Random(100)
    with opened("forks") as coordinator:
        middle = grow(coordinator, effort.steps // 2, _whole).checkpoint_id
        before, changed = kept(coordinator), 0
        for number in range(effort.forks):
            edit = [message(chance)]
            changed += _adds(edit, number)
            coordinator.fork(middle, append={"messages": edit})
        grew = kept(coordinator) - before
    return [Result.figure(f"kept of {effort.forks} forks, {where} / what they changed", grew / changed, bar=2.0)]


def _compressed(where: str, effort: Effort, opened: Callable[[str], Any], kept: Callable[[Any], int]) -> Result:
    with opened("compressed") as coordinator:
        coded = SyncCoordinator(CodedStore(coordinator.store, bp.Codec(compress=True)), coordinator.book)
        grown = grow(coded, effort.steps, _append)
        return Result.figure(f"kept of {effort.steps:,} steps compressed, {where} / L", kept(coordinator) / grown.added)
