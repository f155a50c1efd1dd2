"""Schedules that workers look after: each time gives one job, however many workers look."""

from __future__ import annotations

from collections import Counter

import anyio
import pydantic
import pytest

import batonpass as bp

from .serving import DEADLINE, Ask, Reply, only


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
    assert told == "KeyError: 'now'"
