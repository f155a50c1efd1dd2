"""What is put with a ttl is freed when its time is over, even if no worker runs, because later puts free it."""

from __future__ import annotations

import warnings

import pytest

from batonpass.adapters.langgraph import BatonpassSaver, BatonpassStore
from tests.harness.stores import Harness

from .graphs import Runner, chat, delta, say
from .memories import Memory

pytestmark = pytest.mark.capability("langgraph")


@pytest.mark.parametrize("side", ["sync", "async"])
def test_a_store_that_only_savers_use_does_not_grow(harness: Harness, side: str) -> None:
    sizes: list[int] = []
    with BatonpassSaver(harness.store(), ttl=60) as saver:
        for turn in range(3):
            for number in range(50):
                Runner(chat(saver), f"thread {turn} {number}", side).run(say("hello"))
            harness.clock.advance(61_000)
            sizes.append(sum(len(str(each)) for each in harness.dump().values()))
    assert sizes[2] < 2 * sizes[0]


@pytest.mark.parametrize("side", ["sync", "async"])
def test_a_store_that_only_memories_use_does_not_grow(harness: Harness, side: str) -> None:
    sizes: list[int] = []
    with Memory(BatonpassStore(harness.store(), ttl={"default_ttl": 1}), side) as memory:
        for turn in range(3):
            for number in range(110):
                memory.put(("users", str(turn)), str(number), {"said": "hello"})
            harness.clock.advance(61_000)
            sizes.append(sum(len(str(each)) for each in harness.dump().values()))
    assert sizes[2] < 2 * sizes[0]


@pytest.mark.parametrize("side", ["sync", "async"])
@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_what_delta_channels_are_made_of_stays(harness: Harness, side: str, durability: str) -> None:
    """They may be in use for longer than any of their checkpoints lives."""
    with BatonpassSaver(harness.store(), ttl=60) as saver, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        runner = Runner(delta(saver), "thread", side)
        for turn in range(9):
            runner.run({"turns": turn}, durability=durability)
            assert len(runner.state().values["lines"]) == turn + 1
            harness.clock.advance(25_000 if turn else 61_000)
    assert [str(each.message).partition(",")[0] for each in told if each.category is UserWarning] == [
        "this graph has delta channels"
    ]
