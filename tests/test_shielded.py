"""A wait that can be cancelled, for what goes on without it."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from batonpass.coordinator.shielded import shielded


@pytest.fixture
async def logged() -> list[dict[str, Any]]:
    """What the event loop would log."""
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told_of: told.append(told_of))
    return told


async def test_it_gives_what_comes(logged: list[dict[str, Any]]) -> None:
    good, bad = (asyncio.get_running_loop().create_future() for _ in range(2))
    asyncio.get_running_loop().call_soon(good.set_result, 1)
    asyncio.get_running_loop().call_soon(bad.set_exception, KeyError("bad"))
    assert await shielded(good) == 1
    with pytest.raises(KeyError, match="bad"):
        await shielded(bad)
    assert await shielded(good) == 1  # it was there already
    assert logged == []


async def _wait_and_be_cancelled(future: asyncio.Future[Any]) -> None:
    waits = [asyncio.create_task(shielded(future)) for _ in range(2)]
    await asyncio.sleep(0)
    for each in waits:
        each.cancel()
    ended = await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), 10)
    assert [type(each) for each in ended] == [asyncio.CancelledError] * 2


@pytest.mark.parametrize("comes", ["result", "error", "nothing"])
async def test_a_cancelled_wait_stops_nothing_and_logs_nothing(comes: str, logged: list[dict[str, Any]]) -> None:
    future = asyncio.get_running_loop().create_future()
    await _wait_and_be_cancelled(future)
    assert not future.done()
    if comes == "result":
        future.set_result(1)
    elif comes == "error":
        future.set_exception(KeyError("too late"))
    else:
        future.cancel()
    await asyncio.sleep(0)
    del future
    gc.collect()
    assert logged == []


async def test_what_is_cancelled_itself(logged: list[dict[str, Any]]) -> None:
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.cancel)
    with pytest.raises(asyncio.CancelledError):
        await shielded(future)
    assert logged == []
