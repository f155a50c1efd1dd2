"""A worker whose connection is closed, and which is then cancelled, leaves nothing open."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import batonpass as bp
from tests.harness.openings import openings

app = bp.App("closing-worker")


class Note(bp.Contract, name="closing-worker.note"):
    text: str


@app.agent("keep", accepts=Note, returns=Note)
def keep(note: Note) -> Note:
    return note


def opened(coordinator: bp.Coordinator) -> list[Any]:
    store: Any = coordinator.store
    return [handle._connection for handle in (store._reading, store._writing)]


async def test_its_files_are_closed(sqlite_url: str) -> None:
    connection = bp.connect(sqlite_url, app=app)
    coordinator = await connection.aopen()
    with pytest.raises(KeyError, match="the block failed"):
        async with app.worker(coordinator):
            await (await coordinator.submit(keep, Note(text="a"), returns=Note)).result(timeout=30)
            await connection.aclose()
            with anyio.fail_after(30):  # the worker opens it again
                while opened(coordinator) == [None, None]:
                    await anyio.sleep(0.005)
            raise KeyError("the block failed")
    assert opened(coordinator) == [None, None]


async def test_the_next_opening_is_checked(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has it open any more, so another store may be there."""
    connection = bp.connect(sqlite_url, app=app)
    coordinator = await connection.aopen()
    async with app.worker(coordinator):
        await (await coordinator.submit(keep, Note(text="a"), returns=Note)).result(timeout=30)
        await connection.aclose()
    opened_again = openings(connection, monkeypatch)
    async with connection:
        assert opened_again == ["open"]
