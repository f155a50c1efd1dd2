"""What is packed is used again from put to put; each checkpoint comes back with its own bookkeeping all the same."""

from __future__ import annotations

import random
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from batonpass.adapters.langgraph import BatonpassSaver

pytestmark = pytest.mark.capability("langgraph")


def test_versions_and_versions_seen_come_back_as_they_were_put(saver: BatonpassSaver, thread: str) -> None:
    chance = random.Random(3)
    put: list[tuple[Any, Any]] = []
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    versions: dict[str, Any] = {}
    seen: dict[str, dict[str, Any]] = {}
    for number in range(1, 30):
        _change(versions, chance, number)
        _change(seen.setdefault(chance.choice("pqr"), {}), chance, number)
        if number % 10 == 0:
            seen.pop(chance.choice([*seen]))
        checkpoint: Any = {
            **empty_checkpoint(),
            "id": str(uuid6()) if number % 7 else f"no uuid {number:03}~",
            "channel_versions": dict(versions),
            "versions_seen": {node: dict(each) for node, each in seen.items()},
            "updated_channels": [*versions][: number % 3] if number % 4 else None,
        }
        config = saver.put(config, checkpoint, {"source": "update", "step": number}, {})
        put.append((config, checkpoint))
        for each in seen.values():  # what was put is not what is changed later
            _change(each, chance, -number)
    for at, checkpoint in put:
        found = saver.get_tuple(at)
        assert found is not None
        assert repr(_sorted(found.checkpoint)) == repr(_sorted(checkpoint))


def _change(versions: dict[str, Any], chance: random.Random, number: int) -> None:
    usual = f"{number % 100:032}.{chance.random():016}"
    versions[chance.choice("abc")] = chance.choice([usual, usual, number, float(number), "x"])


def _sorted(checkpoint: Any) -> dict[str, Any]:
    nodes = {node: dict(sorted(each.items())) for node, each in sorted(checkpoint["versions_seen"].items())}
    return dict(sorted({**checkpoint, "versions_seen": nodes}.items()))
