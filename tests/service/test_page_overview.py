"""What the first page shows of schedules and webhooks: whoever looks after jobs must see that one has stopped."""

from __future__ import annotations

import batonpass as bp

from ..apps.page_app import Draft, app
from ..harness.schedules import scheduled_before
from .service import service_of
from .visitor import visiting

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


async def test_schedules(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, visiting(address) as visitor:
            assert "Schedules" not in await visitor.open("/ui/")
            await coordinator.schedule("nightly", "free", Draft(), cron="0 3 * * *", timezone="Europe/Berlin")
            await coordinator.schedule("often", "free", Draft(), cron="* * * * *")
            await coordinator.pause_schedule("nightly")
            job = await coordinator.run_schedule("often")
            shown = await visitor.open("/ui/")
            assert "nightly free 0 3 * * * Europe/Berlin paused" in shown
            assert "often free * * * * * UTC in " in shown
            assert f"/ui/jobs/{job.id}" not in visitor.page  # submitted beside its times
            assert "overdue" not in shown
            scheduled_before(sqlite_url, app, "late", "free", 7200)
            assert "overdue: no worker submits it" in await visitor.open("/ui/")


async def test_of_many_schedules_those_that_need_somebody(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, visiting(address) as visitor:
            for number in range(22):
                await coordinator.schedule(f"a{number:02}", "free", Draft(), cron="0 3 * * *")
            await coordinator.schedule("b-paused", "free", Draft(), cron="0 3 * * *")
            await coordinator.pause_schedule("b-paused")
            scheduled_before(sqlite_url, app, "c-late", "free", 7200)
            shown = (await visitor.open("/ui/")).partition("Schedules")[2]
            assert "4 more: batonpass schedule list shows all." in shown
            assert shown.index("c-late") < shown.index("b-paused") < shown.index("a00") < shown.index("a17")
            assert "a18" not in shown


async def test_what_a_key_lacks_for(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app, codec=bp.Codec(encrypt={"k": b"k" * 32})) as coordinator:
            await coordinator.schedule("secret", "free", Draft(), cron="0 3 * * *")
            await coordinator.webhook("hook", "https://hooks.example/")
        async with visiting(address) as visitor:
            shown = await visitor.open("/ui/")
            assert "BATONPASS_ENCRYPT_KEYS" in shown.partition("Schedules")[2].partition("Webhooks")[0]
            assert "hook unreadable 0 " in shown


async def test_webhooks(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, visiting(address) as visitor:
            assert "Webhooks" not in await visitor.open("/ui/")
            url = "https://user:pass-word@hooks.example/pass-word?key=pass-word"
            await coordinator.webhook("hook", url, secret=SECRET)
            await coordinator.submit("free", Draft())
            shown = await visitor.open("/ui/")
            assert "hook hooks.example active 1 " in shown
            assert "pass-word" not in visitor.page
            assert SECRET not in visitor.page
