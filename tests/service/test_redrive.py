"""`POST /jobs/JOB/redrive`: a failed job continues, as it was or with another payload, state or guard."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

import batonpass as bp

from ..workers.serving import DEADLINE, Ask, Reply, reached
from .service import caller, service_of

app = bp.App("redriving")


@app.agent("careful", accepts=Ask, returns=Reply, retries=1)
def careful(ask: Ask, ctx: bp.SyncContext) -> Reply:
    if ask.text == "bad":
        raise ValueError("no")
    return Reply(text=ask.text)


@app.agent("costly", accepts=Ask, returns=Reply, hands_to={"careful": Ask})
async def costly(ask: Ask, ctx: bp.Context) -> bp.Handoff[Ask]:
    ctx.spend(tokens=10)
    return ctx.hand_off("careful", ask)


@app.agent("keeps", accepts=Ask, returns=Reply, retries=1)
async def keeps(ask: Ask, ctx: bp.Context) -> Reply:
    text = await ctx.step("write", lambda: ask.text)
    if text == "bad":
        raise ValueError("no")
    return Reply(text=text)


@app.agent("pays", accepts=Ask, returns=Reply, retries=1)
async def pays(ask: Ask, ctx: bp.Context) -> Reply:
    def pay() -> str:
        raise TimeoutError("nobody knows")

    return Reply(text=await ctx.effect("pay", pay))


broken = True


@app.agent("asks", accepts=Ask, returns=Reply, hands_to={"part": Ask}, retries=1)
async def asks(ask: Ask, ctx: bp.Context) -> Reply:
    [found] = await ctx.fan_out([ctx.hand_off("part", ask)], failures="collect")
    await ctx.step("note", lambda: None)
    if broken:
        raise ValueError("no")
    return Reply(text=type(found).__name__)


@app.agent("part", accepts=Ask, returns=Reply, retries=1)
async def part(ask: Ask, ctx: bp.Context) -> Reply:
    if broken:
        raise ValueError("no")
    return Reply(text="yes")


class Letter(bp.Contract, name="redriving.letter"):
    first_name: str = Field(alias="FIRST_NAME")
    last: str = Field(alias="first_name")  # the name of the other one


@app.agent("greets", accepts=Letter, returns=Reply, retries=1)
def greets(letter: Letter) -> Reply:
    if letter.first_name == "bad":
        raise ValueError("no")
    return Reply(text=f"{letter.first_name} {letter.last}")


@pytest.mark.each_store
async def test_its_lost_children_go_on(store_url: str) -> None:
    global broken
    with service_of(app, store_url) as address:
        async with bp.connect(store_url, app=app) as coordinator, app.worker(coordinator), caller(address) as http:
            broken = True
            job = await coordinator.submit("asks", Ask(), returns=Reply)
            await reached(job, bp.JobState.FAILED)
            broken = False
            assert (await http.post(f"/jobs/{job.id}/redrive", json={"lost_children": True})).status_code == 200
            assert (await job.result(timeout=DEADLINE)).text == "Reply"


@pytest.mark.each_store
async def test_a_failed_job_is_mended(store_url: str) -> None:
    with service_of(app, store_url) as address:
        async with bp.connect(store_url, app=app) as coordinator, app.worker(coordinator), caller(address) as http:

            async def redriven(job: bp.Job[Any], **given: Any) -> Reply:
                await reached(job, bp.JobState.FAILED)
                reply = await http.post(f"/jobs/{job.id}/redrive", json=given)
                assert (reply.status_code, reply.json()) == (200, {"id": job.id, "redriven": True}), reply.text
                return await coordinator.job(job.id, returns=Reply).result(timeout=DEADLINE)

            job = await coordinator.submit("careful", Ask(text="bad"))
            assert await redriven(job, payload={"text": "good"}) == Reply(text="good")
            job = await coordinator.submit("costly", Ask(text="dear"), guard=bp.Guard(hops=3, tokens=5))
            assert await redriven(job, guard={"tokens": 50}) == Reply(text="dear")
            assert (await job.info()).guard == bp.Guard(hops=3, tokens=50)
            job = await coordinator.submit("costly", Ask(text="dear"), guard=bp.Guard(hops=3, tokens=5, cost=1))
            assert await redriven(job, guard={"hops": None, "tokens": None}) == Reply(text="dear")
            assert (await job.info()).guard == bp.Guard(hops=3, cost=1)


@pytest.mark.parametrize("names", [("FIRST_NAME", "first_name"), ("FIRST_NAME", "last")])
async def test_a_payload_is_sent_back_with_the_fields_names_or_their_aliases(
    sqlite_url: str, names: tuple[str, str]
) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, app.worker(coordinator), caller(address) as http:
            job = await coordinator.submit("greets", Letter(FIRST_NAME="bad", first_name="Doe"))
            await reached(job, bp.JobState.FAILED)
            payload = dict(zip(names, ("Ann", "Doe"), strict=True))
            reply = await http.post(f"/jobs/{job.id}/redrive", json={"payload": payload})
            assert reply.status_code == 200, reply.text
            assert await coordinator.job(job.id, returns=Reply).result(timeout=DEADLINE) == Reply(text="Ann Doe")


async def test_what_is_refused(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, app.worker(coordinator), caller(address) as http:
            failed = await coordinator.submit("careful", Ask(text="bad"))
            await reached(failed, bp.JobState.FAILED)
            done = await coordinator.submit("careful", Ask(text="good"))
            await reached(done, bp.JobState.COMPLETED)
            for job, given, status, told in [
                (done.id, {}, 409, "only a failed job can be redriven"),
                ("nonsense", {}, 404, "'nonsense' is not a job id"),
                (failed.id, {"payload": {"number": "x"}}, 422, "number"),
                (failed.id, {"payload": "bad"}, 400, "payload"),
                (failed.id, {"changes": {"text": "x"}}, 422, "no state to change"),
                (failed.id, {"set": {}}, 400, "set: Extra inputs"),
            ]:
                reply = await http.post(f"/jobs/{job}/redrive", json=given)
                assert (reply.status_code, told in reply.json()["error"]) == (status, True), (given, reply.text)
            assert (await failed.info()).state == bp.JobState.FAILED


@pytest.mark.each_store
async def test_changes_are_of_what_is_there(store_url: str) -> None:
    """As on the command line, and as in a fork. A misspelt name did nothing, and nobody was told."""
    with service_of(app, store_url) as address:
        async with bp.connect(store_url, app=app) as coordinator, app.worker(coordinator), caller(address) as http:
            job = await coordinator.submit("keeps", Ask(text="bad"))
            await reached(job, bp.JobState.FAILED)
            for given, told in [
                ({"changes": {"wriet": "x"}}, "there is no 'wriet': the state has only write"),
                ({"changes": {"wriet[0]": "x"}}, "there is no 'wriet"),
                ({"add": {"write": "x"}}, "'write' is there already: use changes"),
            ]:
                reply = await http.post(f"/jobs/{job.id}/redrive", json=given)
                assert (reply.status_code, told in reply.json()["error"]) == (422, True), reply.text
            edit = {"changes": {"write": "good"}, "add": {"other": 1}}
            assert (await http.post(f"/jobs/{job.id}/redrive", json=edit)).status_code == 200
            assert await coordinator.job(job.id, returns=Reply).result(timeout=DEADLINE) == Reply(text="good")


@pytest.mark.parametrize("where", ["changes", "add"])
async def test_an_effect_is_told(where: str, sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, app.worker(coordinator), caller(address) as http:
            job = await coordinator.submit("pays", Ask())
            await reached(job, bp.JobState.FAILED, reason="ambiguous")
            reply = await http.post(f"/jobs/{job.id}/redrive", json={where: {"effect:pya": "paid"}})
            assert (reply.status_code, "has not started 'effect:pya'" in reply.json()["error"]) == (422, True), (
                reply.text
            )
            reply = await http.post(f"/jobs/{job.id}/redrive", json={where: {"effect:pay": "paid"}})
            assert reply.status_code == 200, reply.text
            assert await coordinator.job(job.id, returns=Reply).result(timeout=DEADLINE) == Reply(text="paid")
