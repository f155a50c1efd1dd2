"""A bit that flipped anywhere in the file: whatever is read is what was stored, or an error of ours says that it is
not."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.snapshots import open_checkpoint
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import MINUTE, fence_of, new_checkpoint, new_job, new_target

_FLIPS = 60
_PAGE = 2048
_QUEUE = new_target("write").queue


def _filled(path: Path) -> dict[str, Any]:
    """A file with checkpoints and jobs. Returns the states by their checkpoints."""
    store = SqliteStore(str(path), "default")
    states: dict[str, Any] = {}
    for number in range(20):
        state = {"number": number, "said": [f"word {each} " * 10 for each in range(number)]}
        new = new_checkpoint(state, thread=f"t{number % 3}")
        store.call(c.Save(new.thread, new))
        states[new.id] = state
    for _ in range(6):
        store.call(new_job())
    store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return states


def _flipped(data: bytes, choose: random.Random) -> bytes:
    """With one bit flipped, of pages that hold something."""
    held = [page for page in range(0, len(data), _PAGE) if any(data[page : page + _PAGE])]
    at = choose.choice(held) + choose.randrange(_PAGE)
    return data[:at] + bytes([data[at] ^ 1 << choose.randrange(8)]) + data[at + 1 :]


def _tried(act: Callable[..., Any], *given: Any) -> Any:
    """None if it is refused in our words. Any other error fails the test."""
    try:
        return act(*given)
    except bp.BatonpassError:
        return None


def _read(store: SqliteStore, id_: str) -> bp.Checkpoint:
    return open_checkpoint(store.call(c.Restore(id_)))


@pytest.mark.parametrize("seed", range(3))
def test_nothing_wrong_is_read(tmp_path: Path, seed: int) -> None:
    states = _filled(tmp_path / "whole.db")
    data, choose = (tmp_path / "whole.db").read_bytes(), random.Random(seed)
    refused = 0
    for number in range(_FLIPS):
        path = tmp_path / f"{number}.db"
        path.write_bytes(_flipped(data, choose))
        store = SqliteStore(str(path), "default")
        for id_, state in states.items():
            found = _tried(_read, store, id_)
            assert found is None or (found.id, found.state) == (id_, state), (seed, number)
            refused += found is None
        _work(store)
        _tried(store.close)
        path.unlink()
    assert refused  # or the flips hit nothing


def _work(store: SqliteStore) -> None:
    for _ in range(8):
        for delivery in _tried(store.call, c.Claim("w", ((_QUEUE, MINUTE),), (mint("l"),))) or ():
            new = new_checkpoint(thread=delivery.job.id)
            _tried(store.call, c.Save(new.thread, new, fence_of(delivery)))
            _tried(store.call, c.Complete(fence_of(delivery), b"done"))
    for command in (c.Reap(), c.ListJobs(50), c.Timeline("t1"), c.Threads(), c.Events(), c.PruneJobs(0)):
        _tried(store.call, command)
