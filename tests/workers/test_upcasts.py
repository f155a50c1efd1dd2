"""A contract gets a new version while jobs wait with the old one: workers that can upcast it take them."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

import batonpass as bp

from .serving import serving

DEADLINE = 90


class First(bp.Contract, name="upcasts.order"):
    text: str


class Second(bp.Contract, name="upcasts.order", version=2):
    words: list[str]


class Third(bp.Contract, name="upcasts.order", version=3):
    words: list[str]
    count: int


def made(accepts: type[bp.Contract], **options: Any) -> bp.App:
    app = bp.App("upcasts")

    @app.agent("bill", accepts=accepts, returns=accepts, **options)
    def bill(order: bp.Contract) -> bp.Contract:
        return order

    return app


def newest(**options: Any) -> bp.App:
    app = made(Third, **options)

    @app.upcast(Third, from_version=2)
    def _count(values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "count": len(values["words"])}

    return app


async def test_what_waits_with_an_older_version_is_done(store_url: str) -> None:
    app = newest(concurrency=1)

    @app.upcast(Third, from_version=1)
    def _split(values: dict[str, Any]) -> dict[str, Any]:
        return {"words": values["text"].split()}

    async with bp.connect(store_url, app=made(First)) as before:
        await made(First).declare(before)
        first = await before.submit("bill", First(text="tea and milk"), priority="high")
    async with bp.connect(store_url, app=made(Second)) as between:
        second = await between.submit("bill", Second(words=["tea"]))
    async with serving(app, store_url), bp.connect(store_url, app=app) as now:
        wanted = Third(words=["tea", "and", "milk"], count=3)
        assert await now.job(first.id, returns=Third).result(timeout=DEADLINE) == wanted
        assert await now.job(second.id, returns=Third).result(timeout=DEADLINE) == Third(words=["tea"], count=1)
    async with bp.connect(store_url, app=made(Second)) as between, serving(made(Second), store_url):
        old = await between.submit("bill", Second(words=["milk"]))
        await old.result(timeout=DEADLINE)
    async with bp.connect(store_url, app=app) as now:  # a result that an older worker gave
        assert await now.job(old.id, returns=Third).result(timeout=0) == Third(words=["milk"], count=1)


async def test_what_a_schedule_gives_is_upcast(store_url: str) -> None:
    """Older code had added it. None of its times used to give a job."""
    older = made(Second)
    async with bp.connect(store_url, app=older) as before:
        await older.declare(before)
        await before.schedule("bills", "bill", Second(words=["tea"]), cron="* * * * * *")
    async with serving(newest(), store_url) as now:
        with anyio.fail_after(DEADLINE):
            while not (done := await now.jobs(state="completed")):
                await anyio.sleep(0.02)
        assert await now.job(done[0].id, returns=Third).result(timeout=0) == Third(words=["tea"], count=1)
        assert [schedule.error for schedule in await now.schedules()] == [None]


async def test_a_version_without_a_step_is_told(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """The first worker that does not take it any more says so. One that does, and later ones, say nothing."""
    said: list[int] = []
    with caplog.at_level("WARNING", "batonpass.worker"):
        for app in (made(First), made(First), made(Second), made(Second), newest(), made(Second)):
            async with serving(app, sqlite_url):
                said.append(len(caplog.records))
    assert said == [0, 0, 1, 1, 1, 1]
    assert "agent bill accepted upcasts.order@1 before: jobs that wait with it" in caplog.text
    assert "@app.upcast(Second, from_version=1)" in caplog.text


async def test_a_version_without_a_step_waits(sqlite_url: str) -> None:
    async with serving(newest(), sqlite_url), bp.connect(sqlite_url, app=made(First)) as before:
        job = await before.submit("bill", First(text="tea"))
        other = await before.submit("bill", {"text": "milk"})
        with pytest.raises(bp.ResultTimeout, match="no live worker accepts it"):
            await job.result(timeout=0.3)
        assert (await other.info()).attempt == 1


async def test_a_step_that_fails_parks_the_job(sqlite_url: str) -> None:
    async with bp.connect(sqlite_url, app=made(Second)) as before:
        await made(Second).declare(before)
        job = await before.submit("bill", Second(words=["tea"]))
    app = made(Third)
    app.upcast(Third, from_version=2)(lambda values: values["nothing"])
    async with serving(app, sqlite_url), bp.connect(sqlite_url, app=app) as now:
        with pytest.raises(bp.JobFailed, match="the upcast from version 2 failed: KeyError: 'nothing'") as failed:
            await now.job(job.id).result(timeout=DEADLINE)
        assert failed.value.reason == "contract"


async def test_a_result_is_read_as_a_contract_without_a_name(sqlite_url: str) -> None:
    class Words(bp.Contract):
        words: list[str]

    app = bp.App("words")
    app.agent("bill", accepts=Second, returns=Second)(lambda order: order)
    async with serving(app, sqlite_url) as coordinator:
        job = await coordinator.submit("bill", Second(words=["tea"]), returns=Words)
        assert await job.result(timeout=DEADLINE) == Words(words=["tea"])


def test_a_step_that_leads_nowhere_is_refused() -> None:
    app = newest()
    with pytest.raises(bp.BadSetup, match=r"upcasts.order@3 has no older version 3: raise version="):
        app.upcast(Third, from_version=3)(dict)
    with pytest.raises(bp.BadSetup, match=r"two upcasts of 'upcasts.order' from version 2"):
        app.upcast(Third, from_version=2)(dict)
