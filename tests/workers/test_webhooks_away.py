"""Couriers whose store is away say so once, and once when it is back, however many webhooks wait."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.workers import webhooks

from .couriers import delivering, save, until
from .receiver import HANG, Receiver, serving


class Away:
    """Makes a store refuse some commands for a while, and counts them."""

    def __init__(self, coordinator: bp.Coordinator, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refused: list[str] = []
        self.kinds: tuple[type, ...] = ()
        carry_out = coordinator.store.acall

        async def acall(command: Any) -> Any:
            if isinstance(command, self.kinds):
                self.refused.append(type(command).__name__)
                raise bp.Unavailable("the store is away")
            return await carry_out(command)

        monkeypatch.setattr(coordinator.store, "acall", acall)

    def times(self, kind: type) -> int:
        return self.refused.count(kind.__name__)


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What couriers have logged so far about the store."""
    monkeypatch.setattr(webhooks, "_LOOK", 0.01)
    caplog.set_level("INFO", "batonpass.webhooks")

    def messages() -> list[str]:
        logged = [each.getMessage() for each in caplog.records if each.name == "batonpass.webhooks"]
        return [each for each in logged if "store" in each]

    return messages


async def hold(coordinator: bp.Coordinator, receiver: Receiver) -> None:
    """Two webhooks are sending an event, and get no answer yet."""
    receiver.answers = [HANG, HANG]
    for name in ("v", "w"):
        receiver.secret = await coordinator.webhook(name, receiver.url, secret=receiver.secret or None, plain_http=True)
    await save(coordinator, "a")
    await until(lambda: len(receiver.asked) == 2)


@asynccontextmanager
async def holding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[bp.Coordinator, Receiver, Away]]:
    """A courier whose webhooks are sending, and whose store can go away."""
    receiver = Receiver()
    async with bp.connect(f"sqlite:///{tmp_path / 'hooks.db'}") as coordinator:
        away = Away(coordinator, monkeypatch)
        with serving(receiver):
            async with delivering(coordinator):
                await hold(coordinator, receiver)
                yield coordinator, receiver, away


async def test_it_is_said_once_when_it_begins_and_once_when_it_is_over(
    tmp_path: Path, told: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with holding(tmp_path, monkeypatch) as (_, receiver, away):
        away.kinds = (c.Command,)
        receiver.over.set()
        await until(lambda: away.times(c.ListGroups) >= 20)
        away.kinds = ()
        await until(lambda: len(receiver.accepted) == 2 and len(told()) > 1)
    begun, over = told()
    assert begun == "webhooks wait for the store, trying again: the store is away"
    assert re.fullmatch(r"webhooks wait for the store for \d+\.\d s: that is over", over)


async def test_it_is_over_when_none_waits_any_more(
    tmp_path: Path, told: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full store can still be read, which says little. A webhook that is deleted does not wait any more."""
    async with holding(tmp_path, monkeypatch) as (coordinator, receiver, away):
        away.kinds = (c.JoinGroup,)
        receiver.over.set()  # both failures have to be noted now
        await until(lambda: away.times(c.JoinGroup) >= 4)
        await coordinator.delete_webhook("v")
        waits = away.times(c.JoinGroup)
        await until(lambda: away.times(c.JoinGroup) >= waits + 6)
        assert len(told()) == 1
        away.kinds = ()
        await until(lambda: len(told()) > 1)
    begun, over = told()
    assert begun == "webhooks wait for the store, trying again: the store is away"
    assert over.endswith("that is over")
