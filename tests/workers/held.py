"""Writes that a test holds back, so that others happen meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.commands import Record, Save

from .serving import DEADLINE


class Held:
    """Journal writes of async code that are held back: how many were asked for, and have returned, and how many are
    allowed to go on to the store."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, url: str, which: Callable[[Record | Save], bool]) -> None:
        self.asked, self.returned, self.allowed = 0, 0, 0
        self._changed = asyncio.Condition()
        with bp.connect(url) as coordinator:
            kind = type(coordinator.store)
        ask = kind.acall

        async def acall(store: Any, command: Any) -> Any:
            if not isinstance(command, (Record, Save)) or not which(command):
                return await ask(store, command)
            turn = self.asked
            await self.set("asked", turn + 1)
            await self.until(lambda: self.allowed > turn)
            answer: object = await ask(store, command)
            await self.set("returned", self.returned + 1)
            return answer

        monkeypatch.setattr(kind, "acall", acall)

    async def set(self, name: str, number: int) -> None:
        async with self._changed:
            setattr(self, name, number)
            self._changed.notify_all()

    async def until(self, so: Callable[[], bool]) -> None:
        with anyio.fail_after(DEADLINE):
            async with self._changed:
                await self._changed.wait_for(so)
