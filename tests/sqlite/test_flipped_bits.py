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
from batonpass.coordinator.blobs import open_blob, seal_blob
from batonpass.coordinator.items import ItemChange, ItemName
from batonpass.coordinator.place_writes import close_write
from batonpass.coordinator.rows import Place, Write
from batonpass.coordinator.snapshots import open_checkpoint
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import MINUTE, fence_of, new_checkpoint, new_job, new_target

_FLIPS = 60
_PAGE = 2048
_QUEUE = new_target("write").queue


def _closed(store: SqliteStore, path: Path) -> None:
    """All of it is in the file then."""
    store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


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
    _closed(store, path)
    return states


def _flipped(data: bytes, choose: random.Random) -> bytes:
    """With one bit flipped, of pages that hold something."""
    held = [page for page in range(0, len(data), _PAGE) if any(data[page : page + _PAGE])]
    at = choose.choice(held) + choose.randrange(_PAGE)
    return data[:at] + bytes([data[at] ^ 1 << choose.randrange(8)]) + data[at + 1 :]


def _tried(act: Callable[..., Any], *given: Any, **more: Any) -> Any:
    """None if it is refused in our words. Any other error fails the test."""
    try:
        return act(*given, **more)
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


# An index that leads to another row: it ends with the row's number.


def _misled(path: Path, entry: bytes, row: int, other: int) -> None:
    data = path.read_bytes()
    assert data.count(entry + bytes([row])) == 1
    path.write_bytes(data.replace(entry + bytes([row]), entry + bytes([other])))


def test_a_record_is_not_taken_for_another(store: SqliteStore, path: Path) -> None:
    store.call(new_job())
    [delivery] = store.call(c.Claim("w", ((_QUEUE, MINUTE),), (mint("l"),)))
    store.call(c.Record(fence_of(delivery), {name: seal_blob(name, path="value") for name in ("a", "b", "c")}))
    store.call(c.Release(fence_of(delivery)))
    _closed(store, path)
    _misled(path, f"{delivery.job.id}b".encode(), 2, 3)
    [again] = store.call(c.Claim("w", ((_QUEUE, MINUTE),), (mint("l"),)))
    assert {name: _tried(open_blob, again.journal[name], of="it") for name in "abc"} == {"a": "a", "b": None, "c": "c"}


def test_an_item_is_not_taken_for_another(store: SqliteStore, path: Path) -> None:
    names = [ItemName(("shelf",), each) for each in "abc"]
    store.call(c.WriteItems(tuple(ItemChange(each, seal_blob(each.key, path="value")) for each in names)))
    _closed(store, path)
    _misled(path, names[1].path.encode(), 2, 3)
    found = [_tried(open_blob, row.value, of="it") for row in store.call(c.ReadItems(tuple(names))) if row]
    assert found == ["a", None, "c"]


def test_a_place_is_not_taken_for_another(store: SqliteStore, path: Path) -> None:
    """What was written there is not read as written elsewhere."""
    for key in ("ka", "kb", "kc"):
        store.call(c.Put(new_checkpoint(key, thread="run", place=Place("", key, ""))))
        store.call(c.PutWrites("run", "", key, (Write("said", close_write([key])),)))
    _closed(store, path)
    _misled(path, b"kb", 2, 3)
    for key in ("ka", "kc"):
        found = store.call(c.Find("run", "", key))
        assert found is not None
        assert [each.data for each in found.writes] == [close_write([key])]
    misled = _tried(store.call, c.Find("run", "", "kb"))
    assert misled is None or [each.data for each in misled.writes] == [b""]


def test_a_stream_is_not_taken_for_another(store: SqliteStore, path: Path) -> None:
    for _ in range(2):
        store.call(new_job())
    fences = [fence_of(each) for each in store.call(c.Claim("w", ((_QUEUE, MINUTE),), (mint("l"), mint("l"))))]
    for number in range(4):
        store.call(c.Emit(fences[number % 2], (b"%d" % number,)))
    _closed(store, path)
    _misled(path, fences[0].job_id.encode() + b"\x03", 3, 2)  # after the number, as a column of the index
    assert [row.data for row in store.call(c.ReadStream(fences[0].job_id, "", 10))] == [b"0", b""]
