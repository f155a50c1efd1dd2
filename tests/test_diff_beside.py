"""Large states are compared, and shown, beside the event loop: it has other jobs, leases and requests to serve."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from threading import Event
from typing import Any, cast

import pytest

import batonpass as bp
from batonpass.adapters.plain import AsyncKeeper, Checkpointable
from batonpass.service.page import checkpoints
from batonpass.service.travel import Compared, travel_operations

WAIT = 10
_ran = Event()


def expect() -> None:
    """The event loop gets something to do, later."""
    _ran.clear()
    asyncio.get_running_loop().call_soon(_ran.set)


class Slow(dict[str, Any]):
    """A state that can't be compared until the event loop has run."""

    def items(self) -> Any:
        assert _ran.wait(WAIT), "the event loop stands still"
        return super().items()


class Shown:
    """A value that can't be shown until then."""

    def __str__(self) -> str:
        assert _ran.wait(WAIT), "the event loop stands still"
        return "shown"


class Endless(dict[str, Any]):
    """A state whose comparison takes until it is freed."""

    begun, freed = Event(), Event()

    def items(self) -> Any:
        self.begun.set()
        self.freed.wait(WAIT)
        return super().items()


async def a_checkpoint(coordinator: bp.Coordinator, state: Any) -> bp.Checkpoint:
    saved = await coordinator.save(thread="t", agent="a", state={})
    return replace(await coordinator.restore(saved.id), state=state)


async def test_the_loop_goes_on_while_states_are_compared() -> None:
    async with bp.connect("memory://") as coordinator:
        old, new = [await a_checkpoint(coordinator, Slow(n=n)) for n in (1, 2)]
        expect()
        assert [*(await coordinator.diff(old, new)).lines()] == ["~ state['n']: 1 -> 2"]
        expect()
        assert (await AsyncKeeper(coordinator).diff(old, new)).changed


async def test_an_object_that_changes_while_it_is_compared() -> None:
    class Counter(Checkpointable):
        def __init__(self) -> None:
            self.seen: dict[str, Any] = {"n": 1}

    async with bp.connect("memory://") as coordinator:
        keeper, counter = AsyncKeeper(coordinator), Counter()
        saved = await keeper.save(counter, "run")
        counter.seen["n"] = 2
        comparing = asyncio.create_task(keeper.diff(saved, counter))
        await asyncio.sleep(0)
        counter.seen["n"] = 3
        [changed] = (await comparing).changed
        assert (changed.old, changed.new) == (1, 2)


async def test_a_comparison_is_not_waited_for_once_its_task_was_canceled() -> None:
    async with bp.connect("memory://") as coordinator:
        old, new = [await a_checkpoint(coordinator, Endless(n=n)) for n in (1, 2)]
        comparing = asyncio.create_task(coordinator.diff(old, new))
        assert await asyncio.to_thread(Endless.begun.wait, WAIT)
        comparing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await comparing
        assert not Endless.freed.is_set()
        Endless.freed.set()


async def test_the_service_goes_on_while_a_difference_is_written() -> None:
    class Differs:
        async def diff(self, old: str, new: str) -> bp.Diff:
            expect()
            return bp.Diff(changed=(bp.Change("state", Shown(), 2),))

    [end] = [each for each in travel_operations(cast("Any", Differs())) if each.path == "/diff"]
    reply = await cast("Any", end.endpoint)(None, Compared(old="a", new="b"))
    assert b'"shown"' in reply.body


async def test_the_service_goes_on_while_a_state_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    async with bp.connect("memory://") as coordinator:
        found = await a_checkpoint(coordinator, {"n": Shown()})

        async def restored(_: str) -> bp.Checkpoint:
            expect()
            return found

        monkeypatch.setattr(coordinator, "restore", restored)
        assert "shown" in (await checkpoints.one(coordinator, found.id)).state.text
