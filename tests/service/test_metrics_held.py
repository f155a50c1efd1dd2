"""`GET /metrics`: what alerts need that go to the team of an agent, and what waits though no job exists."""

from __future__ import annotations

import anyio

import batonpass as bp

from ..harness.schedules import scheduled_before
from ..workers.couriers import delivering
from ..workers.serving import Reply, only
from .service import caller, service
from .test_metrics import read

app = only(lambda ask: Reply(text=ask.text))


async def test_schedules_and_webhooks(sqlite_url: str) -> None:
    async with bp.connect(sqlite_url, app=app) as coordinator:
        await coordinator.declare(app)
        await coordinator.webhook("pager", "https://hooks.example.com/jobs", start="begin")
        await coordinator.submit("a", {})
        await coordinator.schedule("nightly", "a", {}, cron="0 3 * * *")
    with service(sqlite_url) as address:
        async with caller(address) as http:
            assert (await read(http))["schedules_overdue"]["a"] == 0
            scheduled_before(sqlite_url, app, "minutely", "a", 7200)
            found = await read(http)
    assert {agent: number for agent, number in found["schedules_overdue"].items() if number} == {"a": 1}
    assert found["webhook_paused"] == {"pager": 0}
    assert found["webhook_lag_events"] == {"pager": 1}
    assert found["webhook_failures"] == {"pager": 0}


async def test_a_webhook_whose_receiver_is_down(sqlite_url: str) -> None:
    """What a courier has taken and can't send waits as well, and the failures are told before it pauses."""
    async with bp.connect(sqlite_url, app=app) as coordinator:
        await coordinator.webhook("pager", "http://127.0.0.1:1/", plain_http=True)
        for _ in range(3):
            await coordinator.submit("a", {})
        async with delivering(coordinator, pauses=(60,)):
            with anyio.fail_after(20):
                while not (await coordinator.webhooks())[0].failures:
                    await anyio.sleep(0.01)
            with service(sqlite_url) as address:
                async with caller(address) as http:
                    found = await read(http)
    assert found["webhook_paused"] == {"pager": 0}
    assert found["webhook_lag_events"] == {"pager": 3}
    assert found["webhook_failures"] == {"pager": 1}


async def test_what_a_key_lacks_for_takes_nothing_else_away(sqlite_url: str) -> None:
    for codec, name in ((bp.Codec(encrypt={"k": b"k" * 32}), "hidden"), (None, "plain")):
        async with bp.connect(sqlite_url, app=app, codec=codec) as coordinator:
            await coordinator.webhook(name, "https://hooks.example.com/jobs")
            await coordinator.schedule(name, "a", {}, cron="0 3 * * *")
    with service(sqlite_url) as address:
        async with caller(address) as http:
            found = await read(http)
            listed = (await http.get("/schedules")).json()
    assert found["unreadable"] == {"schedule": 1, "webhook": 1}
    assert found["webhook_paused"] == {"hidden": 1, "plain": 0}
    assert found["schedules_overdue"].keys() == {"a", "plain", "deep", "graph"}
    assert [(each["name"], each["unreadable"]) for each in listed] == [("hidden", True), ("plain", False)]
