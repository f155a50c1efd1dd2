"""What the service lists of jobs, checkpoints and events: what the command line prints as JSON, page by page."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from functools import partial
from typing import Any

import anyio
import pytest

import batonpass as bp

from ..cli.commandline import CommandLine
from .service import TOKEN, caller, service_of

SUPPER = "desk.supper"


class Order(bp.Contract, name="lists.order"):
    text: str


app = bp.App("lists")
released = threading.Event()


@app.agent("cook", accepts=Order, returns=Order, retries=1)
def cook(order: Order, ctx: bp.SyncContext) -> Order:
    ctx.step("peel", str, order.text)
    if order.text == "burnt":
        raise ValueError("it is burnt")
    return order


@app.agent("serve", accepts=Order, returns=Order, hands_to={"cook": Order})
async def serve(order: Order, ctx: bp.Context) -> Order:
    await ctx.fan_out([ctx.hand_off("cook", order)])
    return order


@app.agent("wait", accepts=Order, returns=Order)
def wait(order: Order) -> Order:
    released.wait(timeout=20)
    return order


@pytest.mark.each_store
async def test_lists_are_those_of_the_command_line(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = CommandLine(store_url, capsys, monkeypatch)

    async def printed(*arguments: str) -> Any:
        return (await anyio.to_thread.run_sync(partial(cli, *arguments, "--json"))).json

    with service_of(app, store_url) as address:
        async with bp.connect(store_url, app=app) as coordinator, app.worker(coordinator), caller(address) as http:

            async def got(path: str, **wanted: Any) -> Any:
                return (await http.get(path, params=wanted)).raise_for_status().json()

            jobs = [await coordinator.submit("cook", Order(text=text)) for text in ("soup", "burnt", "stew")]
            with anyio.fail_after(20):
                while not (workers := await got("/workers")):
                    await anyio.sleep(0.02)
            assert workers == await printed("workers")
            agents = await got("/agents")
            assert agents == await printed("agents")
            assert [agent["name"] for agent in agents] == ["cook", "serve", "wait"]
            assert agents[0]["schema"]["properties"].keys() == {"text"}
            assert [worker["agents"] for worker in workers] == [["cook", "serve", "wait"]]
            for job in jobs:
                with anyio.fail_after(20):
                    while not (await job.info()).state.ended:
                        await anyio.sleep(0.02)
            failed = [info for info in await got("/jobs") if info["state"] == "failed"]
            assert await got("/jobs") == await printed("jobs") == [info.as_dict() for info in await coordinator.jobs()]
            assert await got("/jobs", state="failed") == failed
            assert [each["id"] for each in failed] == [jobs[1].id]
            assert await got("/jobs", agent="nobody") == []
            dinner = await coordinator.submit("serve", Order(text="rice"))
            await dinner.result(timeout=20)
            [dish] = await got("/jobs", parent=dinner.id)
            assert [dish] == await printed("jobs", "--parent", dinner.id)
            assert (dish["agent"], dish["parent"]) == ("cook", dinner.id)
            alone = [info for info in await got("/jobs") if info["id"] != dish["id"]]
            assert await got("/jobs", children=0) == await printed("jobs", "--no-children") == alone
            keyed = await coordinator.submit("cook", Order(text="pie"), key="order-7")
            await keyed.result(timeout=20)
            [pie] = await got("/jobs", agent="cook", key="order-7")
            assert [pie] == await printed("jobs", "--agent", "cook", "--key", "order-7")
            assert pie["id"] == keyed.id
            assert await got("/jobs", agent="serve", key="order-7") == []
            refused = await http.get("/jobs", params={"key": "order-7"})
            assert (refused.status_code, "give both" in refused.text) == (422, True)
            missing = await http.get("/jobs", params={"parent": "lunch"})
            assert (missing.status_code, "not a job id" in missing.text) == (404, True)
            pages, last = list[Any](), dict[str, str]()
            while page := await got("/jobs", limit=2, **last):
                pages, last = [*pages, *page], {"before": page[-1]["id"]}
            assert pages == await got("/jobs")
            (await http.delete(f"/jobs/{pie['id']}")).raise_for_status()
            assert await got("/jobs", before=pie["id"]) == await got("/jobs") == pages[1:]
            assert await printed("jobs", "--before", pie["id"]) == pages[1:]
            assert await got("/dead-letters", before=pie["id"]) == await got("/dead-letters") == failed

            timeline = await got("/timeline", thread=jobs[0].id)
            assert timeline == await printed("timeline", jobs[0].id)
            assert [each["step"] for each in timeline] == ["peel"]
            for number in range(3):
                await coordinator.save(thread=SUPPER, agent="cook", state=number, step=f"s{number}")
            await coordinator.name((await coordinator.timeline(SUPPER))[0].id, "eaten")
            whole = await got("/timeline", thread=SUPPER)
            assert whole == await printed("timeline", SUPPER)
            assert await got("/timeline", thread=SUPPER, limit=1, before=whole[0]["id"]) == whole[1:2]
            assert await got("/timeline", thread=SUPPER, step="s1") == whole[1:2]
            assert await got("/timeline", thread=SUPPER, named=1) == whole[:1]
            assert await got("/timeline", thread=SUPPER, agent="nobody") == []
            await coordinator.submit("cook", {"text": "tea"}, thread="not begun", delay=3600)
            assert await got("/timeline", thread="not begun") == []
            threads = await got("/threads")
            assert threads == await printed("threads") == await coordinator.threads()
            assert {SUPPER, "not begun", jobs[0].id} <= {*threads}
            assert await got("/threads", limit=1, after=threads[0]) == threads[1:2]
            refused = await http.get("/threads", params={"limit": 0})
            assert (refused.status_code, "the last one as after=" in refused.text) == (400, True)

            told = await got("/events", types="job.*, checkpoint.named", job=jobs[1].id)
            expected = [event async for event in coordinator.events(types="job.*", job=jobs[1].id)]
            assert [event["id"] for event in told["events"]] == [event.id for event in expected]
            assert told["events"][-1]["type"] == "batonpass.job.failed"
            assert await got("/events", after=told["after"], job=jobs[1].id) == {"events": [], "after": told["after"]}
            assert [event["subject"] for event in (await got("/events", thread=SUPPER))["events"]] == [SUPPER] * 4


async def test_a_lease_is_told_to_programs_and_to_people(
    sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = CommandLine(sqlite_url, capsys, monkeypatch)
    async with bp.connect(sqlite_url, app=app) as coordinator, app.worker(coordinator) as worker:
        job = await coordinator.submit("wait", Order(text="rice"))
        try:
            with anyio.fail_after(20):
                while (info := await job.info()).lease is None:
                    await anyio.sleep(0.02)
            shown = await anyio.to_thread.run_sync(cli, "show", job.id)
            lease = (await anyio.to_thread.run_sync(cli, "show", job.id, "--json")).json["lease"]
        finally:
            released.set()
    assert (lease["worker"], lease["token"]) == (worker.id, info.lease.token)
    assert f"worker {worker.id}, token {info.lease.token}, until " in shown.out


async def test_what_is_refused_of_lists(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, caller(address) as http:
            for number in range(3):
                await coordinator.save(thread=SUPPER, agent="cook", state=number)
            [first, *_] = [event async for event in coordinator.events()]
            await coordinator.trim_events(1)
            with pytest.raises(bp.Trimmed) as gone:
                [event async for event in coordinator.events(after=first.cursor)]
            kept = gone.value.first_available
            for path, status, told in [
                ("/jobs?state=done", 422, "state='done', but it must be"),
                ("/jobs?before=x", 404, "'x' is not a job id"),
                (
                    "/jobs?limit=0",
                    400,
                    "limit=0, but it must be from 1 to 1000; for the next page, pass the last one as before=",
                ),
                ("/jobs?status=failed", 400, "status: Extra inputs"),
                ("/timeline", 400, "thread: Field required"),
                ("/timeline?thread=nowhere", 404, "there is no thread 'nowhere'"),
                (f"/timeline?thread={SUPPER}&before=x", 404, "'x' is not a checkpoint id"),
                ("/events?types=job.done", 422, "'job.done' is not an event type"),
                ("/events?job=x", 404, "'x' is not a job id"),
                ("/events?after=nonsense", 422, "is not an event cursor"),
                (f"/events?after={first.cursor}", 410, f"are not kept any more: go on with after={kept}"),
            ]:
                reply = await http.get(path)
                assert reply.status_code == status, (path, reply.text)
                assert told in reply.json()["error"]
                assert reply.json().get("after") == (kept if status == 410 else None)
            async with caller(address, TOKEN[:-1]) as stranger:
                for path in ("/jobs", f"/timeline?thread={SUPPER}", "/events"):
                    assert (await stranger.get(path)).status_code == 401


async def test_after_an_event_that_is_damaged(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, caller(address) as http:
            for number in range(2):
                await coordinator.save(thread=SUPPER, agent="cook", state=number)
            first, second = [event async for event in coordinator.events()]
            with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)) as db:
                db.execute("UPDATE event SET fields = '{' WHERE number = ?", (first.cursor,))
            reply = await http.get("/events")
            assert (reply.status_code, reply.json()["after"]) == (410, first.cursor)
            assert "is not what Batonpass writes (KeyError: 'time'): " in reply.json()["error"]
            [after] = (await http.get("/events", params={"after": reply.json()["after"]})).json()["events"]
            assert after["id"] == second.id
