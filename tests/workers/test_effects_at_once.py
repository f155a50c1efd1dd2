"""Effects that are called twice at once: each happens once."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from anyio import to_thread

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


async def test_one_that_waits_for_a_thread_as_the_attempt_ends_does_not_begin(store_url: str) -> None:
    """The job completed without a word of it, since it may be repeated, and then it was paid."""
    bank, paying, gate = Bank("after"), list["asyncio.Future[int]"](), threading.Event()

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        if ctx.attempt == 1:
            await ctx.effect("pay", bank.pay, "first", unsure="repeat")
        threads = to_thread.current_default_thread_limiter()
        busy = [asyncio.ensure_future(to_thread.run_sync(gate.wait, 60)) for _ in range(int(threads.total_tokens))]
        paying.append(asyncio.ensure_future(ctx.effect("pay", bank.pay, "first", unsure="repeat")))
        while threads.statistics().tasks_waiting == 0:
            await asyncio.sleep(0.001)
        others.extend(busy)
        return Reply(text="not needed")

    others = list["asyncio.Future[bool]"]()
    async with serving(only(agent, retries=bp.Retry(attempts=2, first=0.001)), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=60)).text == "not needed"
        gate.set()
        with pytest.raises(bp.Fenced):
            await asyncio.wait_for(paying[0], 30)
        await asyncio.gather(*others)
    assert bank.keys == ["first"]
