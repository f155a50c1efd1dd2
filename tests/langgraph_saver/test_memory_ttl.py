"""An item with a ttl goes when its time is over. Reads restart the time, unless they are told not to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any, cast

import pytest
from langgraph.store.base import PutOp, TTLConfig

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassStore
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, fence_of, new_job, new_target
from tests.harness.stores import Harness

from .memories import Memory

pytestmark = pytest.mark.capability("langgraph")


@pytest.fixture(params=["sync", "async"])
def opened(harness: Harness, request: pytest.FixtureRequest) -> Iterator[Callable[..., Memory]]:
    """Opens memories with a TTLConfig."""
    with ExitStack() as stack:
        yield lambda **ttl: stack.enter_context(
            Memory(BatonpassStore(harness.store(), ttl=cast("TTLConfig", ttl) if ttl else None), request.param)
        )


def keys(memory: Memory, **more: Any) -> list[str]:
    return [item.key for item in memory.search((), refresh_ttl=False, **more)]


def test_it_goes_after_its_time(harness: Harness, opened: Callable[..., Memory]) -> None:
    memory = opened()
    memory.put(("a",), "short", {}, ttl=1)
    memory.put(("a",), "half", {}, ttl=0.5)
    memory.put(("b",), "for ever", {})
    harness.clock.advance(MINUTE // 2)
    assert keys(memory) == ["short", "for ever"]
    assert memory.get(("a",), "half") is None
    harness.clock.advance(MINUTE // 2)
    assert (keys(memory), memory.list_namespaces()) == (["for ever"], [("b",)])


def test_reads_let_it_begin_anew(harness: Harness, opened: Callable[..., Memory]) -> None:
    memory = opened(default_ttl=1)
    for key in ("got", "found", "seen", "left"):
        memory.put(("a",), key, {"found": key == "found"})
    harness.clock.advance(MINUTE - 1)
    memory.get(("a",), "got")
    memory.search(("a",), filter={"found": True})
    memory.get(("a",), "seen", refresh_ttl=False)
    assert len(keys(memory)) == 4
    harness.clock.advance(MINUTE - 1)
    assert keys(memory) == ["found", "got"]
    harness.clock.advance(1)
    assert keys(memory) == []


def test_the_configuration_decides(harness: Harness, opened: Callable[..., Memory]) -> None:
    memory = opened(default_ttl=1, refresh_on_read=False)
    memory.put(("a",), "k", {})
    memory.put(("a",), "for ever", {}, ttl=None)
    memory.put(("a",), "told", {})
    harness.clock.advance(MINUTE - 1)
    memory.get(("a",), "k")
    memory.get(("a",), "told", refresh_ttl=True)
    harness.clock.advance(1)
    assert keys(memory) == ["for ever", "told"]


def test_a_search_refreshes_what_it_gives_and_nothing_else(harness: Harness, opened: Callable[..., Memory]) -> None:
    memory = opened()
    for key in "abc":
        memory.put(("a",), key, {}, ttl=1)
    harness.clock.advance(MINUTE - 1)
    memory.search(("a",), limit=1, offset=1)
    harness.clock.advance(1)
    assert keys(memory) == ["b"]


def test_reading_what_is_kept_for_ever_writes_nothing(harness: Harness, opened: Callable[..., Memory]) -> None:
    memory = opened()
    memory.put(("a",), "k", {})
    before = harness.dump()
    memory.get(("a",), "k")
    memory.search(("a",))
    memory.list_namespaces()
    assert harness.dump() == before


def test_it_is_freed(harness: Harness, opened: Callable[..., Memory]) -> None:
    """By any worker's reap, or by a sweep."""
    memory = opened()
    memory.put(("a",), "kept", {})
    before = harness.dump()
    worker = harness.store()
    worker.open()
    for free in (memory.sweep_ttl, lambda: worker.call(c.Reap())):
        memory.batch([PutOp(("a",), str(number), {}, ttl=1) for number in range(20)])
        harness.clock.advance(MINUTE)
        assert harness.dump() != before
        free()
        assert harness.dump() == before
    worker.close()


def test_a_sweep_takes_no_leases(harness: Harness, opened: Callable[..., Memory]) -> None:
    """After an outage of the store, their holders may renew them first. Workers know to wait for that."""
    worker = harness.store()
    worker.open()
    worker.call(new_job())
    [delivery] = worker.call(c.Claim("w", ((new_target().queue, 200),), (mint("l"),)))
    memory = opened()
    harness.clock.advance(MINUTE)
    memory.sweep_ttl()
    assert worker.call(c.Heartbeat(((fence_of(delivery), 200),))) == [""]
    worker.close()


@pytest.mark.parametrize("wrong", ["60", True, [1], -1, 0, float("nan"), float("inf"), 10**400, timedelta(minutes=1)])
def test_what_is_no_number_of_minutes(wrong: Any, opened: Callable[..., Memory]) -> None:
    """It is shown as it was given."""
    memory = opened()
    with pytest.raises(bp.BadSetup) as told:
        memory.put(("a",), "key", {}, ttl=wrong)
    assert str(told.value).startswith(f"ttl={wrong!r}, but it must be a number of minutes")
    with pytest.raises(bp.BadSetup, match=r"^default_ttl=.* minutes"):
        opened(default_ttl=wrong)
    assert keys(memory) == []


def test_a_config_with_a_wrong_key(opened: Callable[..., Memory]) -> None:
    with pytest.raises(bp.BadSetup, match=r"'default' is not a key .*: refresh_on_read, .*default_ttl"):
        opened(default=5)
    opened(default_ttl=None, refresh_on_read=False, sweep_interval_minutes=5)
