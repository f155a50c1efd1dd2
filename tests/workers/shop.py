"""A shop whose parent job loses children, and is redriven when they would complete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import batonpass as bp

from .serving import Ask, Reply, serving

LONG = 30.0


class Shop:
    """A parent that ends with an error of its own as long as a child fails. `log` is what was done outside. One that
    `waits` has `charged` before."""

    def __init__(self, parent: Callable[..., Any], *, fails: set[int] | None = None, waits: bool = False) -> None:
        self.broken, self.log = True, list[str]()
        self.waits, self.charged = waits, asyncio.Event()
        app = self.app = bp.App("shop")
        app.agent("a", accepts=Ask, returns=Reply, hands_to={"child": Ask}, retries=1)(parent)

        @app.agent("child", accepts=Ask, returns=Reply, retries=1)
        async def child(ask: Ask, ctx: bp.Context) -> Reply:
            if self.broken and (fails is None or ask.number in fails):
                raise ValueError("the card was refused")
            await ctx.effect("charge", self.log.append, f"charged {ask.number}")
            while self.waits and ask.number == 0:
                self.charged.set()
                await asyncio.sleep(0.01)
            return Reply(text=str(ask.number))

    async def redriven(self, url: str) -> tuple[str, str]:
        """For which reason it failed, and its result after a redrive."""
        async with serving(self.app, url) as coordinator:
            job = await coordinator.submit("a", Ask(), returns=Reply)
            with pytest.raises(bp.JobFailed, match="no luck") as failed:
                await job.result(timeout=LONG)
            self.broken = False
            await coordinator.redrive(job.id)
            return failed.value.reason, (await job.result(timeout=LONG)).text


def fan(number: int) -> list[bp.Handoff[Ask]]:
    return [bp.Handoff("child", Ask(number=number))]
