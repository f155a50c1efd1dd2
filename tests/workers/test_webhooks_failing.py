"""Webhooks whose receiver refuses for a while: who watches sees it, and who knows that it is back says so."""

from __future__ import annotations

import anyio
import pytest

import batonpass as bp

from .couriers import all_done, delivering, save, until
from .receiver import HANG, Receiver


async def test_who_watches_sees_that_an_address_refuses(
    store_url: str, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    """From the first attempt on, not only when it is given up, hours later: in the log once, and again when it is over.
    Events that the courier has taken wait as well."""
    caplog.set_level("INFO", "batonpass.webhooks")
    async with bp.connect(store_url) as coordinator, delivering(coordinator, pauses=(0.01, 0.01, 0.01, 60)):
        receiver.secret = await coordinator.webhook("w", receiver.url, types="checkpoint.*", plain_http=True)
        receiver.answers = [500, 503, 502, 200, 200, 500]
        await save(coordinator, *"ab")
        await until(lambda: len(receiver.accepted) == 2)
        await save(coordinator, "c")
        await until(lambda: len(receiver.accepted) == 3)
        await all_done(coordinator)
        told = [each.getMessage() for each in caplog.records if each.name == "batonpass.webhooks"]
        receiver.answers = [500] * 4
        await save(coordinator, *"de")
        await until(lambda: len(receiver.asked) == 11)
        with anyio.fail_after(20):
            while not ((found := await coordinator.webhooks())[0].failures == 4 and found[0].lag == 2):
                await anyio.sleep(0.01)
    failed = "webhook w could not send an event, and tries again in 0.01 s: it answered 500"
    over = "webhook w: its receiver accepts events again, after {} attempt(s) failed"
    assert told == [failed, over.format(3), failed, over.format(1)]


async def test_one_between_two_attempts_is_resumed(
    store_url: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sends at once: the receiver is back, and the next attempt may be hours away. Until then it counts as failing,
    and nothing else cuts the wait short."""
    monkeypatch.setattr("batonpass.workers.webhooks._LOOK", 0.01)
    async with bp.connect(store_url) as coordinator, delivering(coordinator, pauses=(0.01, 0.01, 60, 0.01)) as courier:
        receiver.secret = await coordinator.webhook("w", receiver.url, plain_http=True)
        receiver.answers = [500, 503, 502]
        await save(coordinator, "a")
        with anyio.fail_after(20):
            while (await coordinator.webhooks())[0].failures < 3:
                await anyio.sleep(0.01)
        looks = courier._looks
        await until(lambda: courier._looks > looks + 5)
        assert len(receiver.asked) == 3
        receiver.answers = [HANG]
        await coordinator.resume_webhook("w")
        await until(lambda: len(receiver.asked) == 4)
        [info] = await coordinator.webhooks()
        assert (info.state, info.failures, info.error, info.lag) == ("active", 1, "it answered 502", 1)
        receiver.over.set()
        await until(lambda: len(receiver.accepted) == 1)
        await all_done(coordinator)
        assert [(each.failures, each.error) for each in await coordinator.webhooks()] == [(0, "")]


async def test_attempts_count_on_after_a_resume(
    store_url: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the receiver is not back. Another courier's first failure looks like a resume, and must not make the attempts
    endless."""
    monkeypatch.setattr("batonpass.workers.webhooks._LOOK", 0.01)
    async with bp.connect(store_url) as coordinator, delivering(coordinator, pauses=(0.01, 0.01, 60)):
        receiver.secret = await coordinator.webhook("w", receiver.url, plain_http=True)
        receiver.answers = [500] * 5
        await save(coordinator, "a")
        with anyio.fail_after(20):
            while (await coordinator.webhooks())[0].failures < 3:
                await anyio.sleep(0.01)
        await coordinator.resume_webhook("w")
        with anyio.fail_after(20):
            while (await coordinator.webhooks())[0].state != "paused":
                await anyio.sleep(0.01)
        assert len(receiver.asked) == 4
