"""Schedules that workers look after: each time gives one job, however many workers look."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import anyio
import pydantic
import pytest

import batonpass as bp
from batonpass.workers import scheduling

from .serving import DEADLINE, Ask, Reply, only, reached


async def test_two_workers_and_every_second_one_job(store_url: str, caplog: pytest.LogCaptureFixture) -> None:
    app = only(lambda ask: Reply(text=ask.text))
    async with bp.connect(store_url, app=app) as coordinator, bp.connect(store_url, app=app) as other:
        await coordinator.schedule("tick", "a", Ask(text="now"), cron="* * * * * *")
        with caplog.at_level("INFO", "batonpass.worker"):
            async with app.worker(coordinator), app.worker(other):
                with anyio.fail_after(DEADLINE):
                    while len(await coordinator.jobs(state="completed")) < 3:
                        await anyio.sleep(0.05)
        jobs = await coordinator.jobs()
        made = [e async for e in coordinator.events() if e.type == "batonpass.job.submitted"]
        times = Counter(e.data["at"] for e in made)
        assert set(times.values()) == {1}
        assert len(times) == len(jobs)
        late = [
            job.created_at.timestamp() - int(e.data["at"]) / 1000 for job, e in zip(reversed(jobs), made, strict=True)
        ]
        assert min(late) >= 0
        [schedule] = await coordinator.schedules()
        assert schedule.last_job in {job.id for job in jobs}
        assert "schedule tick was due" in caplog.text
        await coordinator.unschedule("tick")


async def test_one_whose_contract_raises_ends_no_worker(store_url: str) -> None:
    """For example, its checks belong to a new release, which no longer accepts what the schedule gives."""

    class Checked(bp.Contract, name="schedules.checked"):
        text: str

        @pydantic.field_validator("text")
        @classmethod
        def check(cls, text: str) -> str:
            return known[text]

    known = {"now": "now"}
    app = only(lambda ask: Reply(text=ask.text))
    app.agent("checks", accepts=Checked, returns=Reply)(lambda checked: Reply(text=checked.text))
    async with bp.connect(store_url, app=app) as coordinator:
        await coordinator.schedule("tick", "checks", Checked(text="now"), cron="* * * * * *")
        known.clear()
        async with app.worker(coordinator):
            with anyio.fail_after(DEADLINE):
                while not (told := (await coordinator.schedules())[0].error):
                    await anyio.sleep(0.05)
            job = await coordinator.submit("a", Ask(text="on"), returns=Reply)
            assert (await job.result(timeout=DEADLINE)).text == "on"
    assert told == "not a valid schedules.checked@1: text: KeyError: 'now'"


async def test_one_that_is_late_is_tried_again_soon(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its agent has no room for more. It took as long as a new schedule takes to be noticed."""
    monkeypatch.setattr(scheduling, "_PAUSE", 300.0)
    room = anyio.Event()

    async def work(ask: Ask) -> Reply:
        await room.wait()
        return Reply(text=ask.text)

    app = only(work, max_waiting=1)
    caplog.set_level("INFO", "batonpass.worker")
    async with bp.connect("memory://", app=app) as coordinator:
        await coordinator.schedule("tick", "a", Ask(text="now"), cron="* * * * * *")
        first = await coordinator.submit("a", Ask(text="first"), returns=Reply)
        async with app.worker(coordinator, concurrency=1):
            await reached(first, bp.JobState.WORKING)
            with suppress(bp.Overloaded):  # or it was just due, and has the room
                await coordinator.submit("a", Ask(text="second"))
            with anyio.fail_after(DEADLINE / 2):
                while "schedule tick is late, trying again" not in caplog.text:
                    await anyio.sleep(0.05)
                room.set()
                while "schedule tick is late for" not in caplog.text:
                    await anyio.sleep(0.05)
            assert caplog.text.count("trying again") == 1
            await coordinator.unschedule("tick")
