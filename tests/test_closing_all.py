"""Several things are closed, and if one fails, the others are closed all the same."""

from __future__ import annotations

import asyncio

import pytest

from batonpass.coordinator.closing import Closing, end_all


def test_all_have_their_turn_and_the_first_error_is_told() -> None:
    closed: list[str] = []
    with pytest.raises(OSError, match="one"), Closing() as ending:
        for name in ("one", "two", "three"):
            with ending.part():
                closed.append(name)
                if name != "three":
                    raise OSError(name)
    assert closed == ["one", "two", "three"]


def test_a_cancellation_is_not_replaced_by_an_earlier_error() -> None:
    """The canceller waits for it."""
    with pytest.raises(asyncio.CancelledError), Closing() as ending:
        with ending.part():
            raise OSError("can't be closed")
        with ending.part():
            raise asyncio.CancelledError


async def test_what_closes_at_once_and_what_is_awaited() -> None:
    closed: list[str] = []

    def at_once() -> None:
        closed.append("at once")
        raise OSError("one")

    async def awaited() -> None:
        closed.append("awaited")
        raise OSError("two")

    with pytest.raises(OSError, match="one"):
        await end_all(at_once, awaited, awaited)
    assert closed == ["at once", "awaited", "awaited"]
