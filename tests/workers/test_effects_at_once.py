"""Effects that are called twice at once: each happens once."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import batonpass as bp
from batonpass.workers.context.steps import Steps

from .serving import Ask, Reply, only, serving
from .test_effects import Bank


async def test_one_effect_does_not_happen_twice_at_once() -> None:
    bank = Bank()

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        paid = [ctx.effect("pay", bank.pay, each) for each in ("a", "a")]
        found = await asyncio.gather(*paid, return_exceptions=True)
        return Reply(text=" ".join(sorted(str(each) for each in found)))

    async with serving(only(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=60)).text.startswith("1 effect 'pay' runs twice at once")
        assert bank.keys == ["a"]


async def test_nor_one_after_the_other_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second thread had looked whether it was done before the first one ended it."""
    bank = Bank()
    begin, ended = Steps.begin, threading.Event()

    def slowly(steps: Steps, name: str, key: str | None, arguments: Any, **about: Any) -> Any:
        begun = begin(steps, name, key, arguments, **about)
        if arguments[0] == ("late",):
            late.set()
            ended.wait(30)
        return begun

    late = threading.Event()

    def agent(ask: Ask, ctx: bp.SyncContext) -> Reply:
        with ThreadPoolExecutor() as pool:
            second = pool.submit(ctx.effect, "pay", bank.pay, "late", unsure="repeat")
            late.wait(30)
            ctx.effect("pay", bank.pay, "early", unsure="repeat")
            ended.set()
            return Reply(text=str(second.exception(30)))

    monkeypatch.setattr(Steps, "begin", slowly)
    async with serving(only(agent)) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert "effect 'pay' runs twice at once" in (await job.result(timeout=60)).text
    assert bank.keys == ["early"]
