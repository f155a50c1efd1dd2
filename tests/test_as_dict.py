"""What is to be sent on as JSON is JSON: a web page's server has no encoder of ours."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import anyio

import batonpass as bp

WHEN = datetime(2026, 1, 2, tzinfo=UTC)


class Order(bp.Contract, name="asdict.order"):
    when: datetime


app = bp.App("shop")


@app.agent("ship", accepts=Order, returns=Order)
async def ship(order: Order, ctx: bp.Context) -> Order:
    await ctx.ask({"ship": order.when, "marks": {b"x"}}, answer=Order, timeout=60)
    return order


async def test_jobs_questions_and_schedules_are_json() -> None:
    async with bp.connect("memory://as-dict") as coordinator, app.worker(coordinator):
        job = await coordinator.submit(ship, Order(when=WHEN), deadline=3600)
        await coordinator.schedule("daily", ship, Order(when=WHEN), cron="0 9 * * *", expires=60)
        with anyio.fail_after(10):
            while not (items := await coordinator.inbox()):
                await anyio.sleep(0.01)
        [schedule] = await coordinator.schedules()
        info = (await job.info()).as_dict()
        item = items[0].as_dict()
        for about in (info, item, schedule.as_dict()):
            assert json.loads(json.dumps(about)) == about
    assert (info["state"], info["contract"], info["path"]) == ("input_required", "asdict.order@1", ["ship"])
    assert datetime.fromisoformat(info["deadline"]) > datetime.now(UTC)
    assert item["question"] == {"ship": "2026-01-02T00:00:00Z", "marks": ["eA=="]}
    assert item["answer"] == "asdict.order@1"
    assert schedule.as_dict()["payload"] == {"when": "2026-01-02T00:00:00Z"}
