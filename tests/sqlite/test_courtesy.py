"""A large clean-up leaves the file to others in between. They try every 10 ms, and would seldom find it free."""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio
import pytest

from batonpass.coordinator.calls import adrive, drive
from batonpass.coordinator.calls.retention import prune
from batonpass.coordinator.commands import Save
from batonpass.coordinator.sqlite import store as module
from batonpass.coordinator.sqlite import waiting
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_checkpoint

THREADS = 3


async def _prune(store: SqliteStore) -> int:
    return await adrive(store, prune(None, 1, None, True))


WAYS: dict[str, Callable[[SqliteStore], int]] = {
    "sync": lambda store: drive(store, prune(None, 1, None, True)),
    "async": lambda store: anyio.run(_prune, store),
}


@pytest.fixture
def pauses(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of a store with some threads of two checkpoints."""
    for thread in range(THREADS):
        for step in range(2):
            store.call(Save(f"run-{thread}", new_checkpoint(step, thread=f"run-{thread}")))
    seen: list[float] = []

    async def sleep(seconds: float) -> None:
        seen.append(seconds)

    monkeypatch.setattr(time, "sleep", seen.append)
    monkeypatch.setattr(module, "sleep", sleep)
    return seen


@pytest.mark.parametrize("way", WAYS)
def test_others_have_their_turn(
    store: SqliteStore, pauses: list[float], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_TURN", 0.0)
    assert WAYS[way](store) == THREADS
    assert pauses == [0.01] * THREADS, "as long as the others' longest pause"


@pytest.mark.parametrize("way", WAYS)
def test_little_takes_no_longer(
    store: SqliteStore, pauses: list[float], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_TURN", 60.0)
    assert WAYS[way](store) == THREADS
    assert not any(pauses)
