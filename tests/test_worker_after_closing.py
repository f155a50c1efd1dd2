"""A worker whose connection is closed, and which is then cancelled, leaves nothing open."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import batonpass as bp

app = bp.App("closing-worker")


class Note(bp.Contract, name="closing-worker.note"):
    text: str


@app.agent("keep", accepts=Note, returns=Note)
def keep(note: Note) -> Note:
    return note


async def test_its_files_are_closed(sqlite_url: str) -> None:
    connection = bp.connect(sqlite_url, app=app)
    coordinator = await connection.aopen()
    with pytest.raises(KeyError, match="the block failed"):
        async with app.worker(coordinator):
            await (await coordinator.submit(keep, Note(text="a"), returns=Note)).result(timeout=30)
            await connection.aclose()
            await anyio.sleep(0.2)  # the worker has opened it again
            raise KeyError("the block failed")
    store: Any = coordinator.store
    assert [handle._connection for handle in (store._reading, store._writing)] == [None, None]
