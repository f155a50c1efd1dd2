"""A thread's history over HTTP: states, differences, forks, names, going back, deleting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

import batonpass as bp

from ..workers.serving import DEADLINE, Ask, Reply
from .service import caller, service_of

app = bp.App("travelling")


@app.agent("told", accepts=Ask, returns=Reply)
async def told(ask: Ask, ctx: bp.Context) -> Reply:
    return Reply(text=f"{ask.text}: {ctx.job_id}")


@pytest.fixture
async def http(store_url: str) -> AsyncIterator[httpx.AsyncClient]:
    with service_of(app, store_url) as address:
        async with caller(address) as client:
            yield client


async def posted(http: httpx.AsyncClient, path: str, **given: Any) -> Any:
    reply = await http.post(path, json=given)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def got(http: httpx.AsyncClient, path: str, **wanted: str) -> Any:
    reply = await http.get(path, params=wanted)
    assert reply.status_code == 200, reply.text
    return reply.json()


@pytest.mark.each_store
async def test_a_thread_is_read_forked_and_taken_back(store_url: str, http: httpx.AsyncClient) -> None:
    async with bp.connect(store_url, app=app) as coordinator:
        old = await coordinator.save(thread="t", agent="told", step="one", state={"notes": ["a"], "kept": {1, 2}})
        new = await coordinator.save(thread="t", agent="told", step="two", changes={"notes": ["a", "b"]})
    shown = await got(http, f"/checkpoints/{old.id}")
    assert (shown["id"], shown["step"], shown["state"]["notes"], "native" in shown) == (old.id, "one", ["a"], False)
    changed = await got(http, "/diff", old=old.id, new=new.id)
    assert [each["path"] for each in changed["added"]] == ["state['notes'][1]"]
    branch = await posted(http, f"/checkpoints/{old.id}/fork", append={"notes": ["c"]})
    assert (await got(http, f"/checkpoints/{branch['id']}"))["state"]["notes"] == ["a", "c"]
    apart = await posted(http, f"/checkpoints/{old.id}/fork", thread="apart", add={"more": 1}, key="once")
    assert await posted(http, f"/checkpoints/{old.id}/fork", thread="apart", add={"more": 1}, key="once") == apart
    named = await posted(http, f"/checkpoints/{new.id}/name", name="best")
    assert named == {"id": new.id, "name": "best"}
    back = await posted(http, "/rollback", thread="t", to="best")
    assert (back["to"], (await got(http, "/timeline", thread="t"))[0]["id"]) == (new.id, back["id"])
    assert await posted(http, f"/checkpoints/{new.id}/name", name="") == {"id": new.id, "name": None}
    gone = await http.delete("/timeline", params={"thread": "t"})
    assert gone.json() == {"thread": "t", "checkpoints": 4, "jobs": 0}
    again = await http.delete("/timeline", params={"thread": "t"})
    assert (again.status_code, again.json()["error"]) == (404, "there is no thread 't' here")
    assert (await http.get("/timeline", params={"thread": "t"})).status_code == 404
    assert [each["thread"] for each in await got(http, "/timeline", thread="apart")] == ["apart"]


async def test_a_fork_becomes_a_job(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, app.worker(coordinator), caller(address) as http:
            saved = await coordinator.save(thread="t", agent="told", step="one", state={"text": "a", "number": 1})
            trace = {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"}
            path = f"/checkpoints/{saved.id}/fork"
            made = await http.post(path, json={"agent": "told", "changes": {"text": "b"}}, headers=trace)
            job = coordinator.job(made.json()["id"], returns=Reply)
            assert (await job.result(timeout=DEADLINE)).text == f"b: {job.id}"
            deleted = await http.delete(f"/jobs/{job.id}")
            assert deleted.json() == {"id": job.id, "deleted": True}
            assert (await http.delete(f"/jobs/{job.id}")).status_code == 404


async def test_what_contradicts_itself_is_refused(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, caller(address) as http:
            saved = await coordinator.save(thread="t", agent="told", step="one", state={"text": "a"})
            path = f"/checkpoints/{saved.id}"
            for given, status, said in [
                ({"thread": "u", "agent": "told"}, 422, "give thread= or agent=, not both"),
                ({"payload": {"text": "a"}}, 422, "payload= is for the job of an agent="),
                ({"delay": 5}, 422, "delay= is for the job of an agent="),
                ({"state": {}, "changes": {"text": "b"}}, 422, "state"),
                (
                    {"changes": {"txet": "b"}},
                    422,
                    "no 'txet': the state has only text. To add a new name, use add",
                ),
                ({"agent": "told", "changes": {"txet": "b"}}, 422, "there is no 'txet'"),
                ({"add": {"text": "b"}}, 422, "'text' is there already: use changes"),
                ({"add": {"text.more": "b"}}, 422, "'text.more' is inside a value: give that whole"),
                ({"state": {}, "add": {"more": 1}}, 422, "state"),
                ({"stat": {}}, 400, "stat: Extra inputs"),
                ({"agent": "nobody", "payload": {}}, 422, "nobody"),
            ]:
                reply = await http.post(f"{path}/fork", json=given)
                assert (reply.status_code, said in reply.json()["error"]) == (status, True), reply.text
            assert (await http.get("/checkpoints/x")).status_code == 404
            assert (await http.get("/diff", params={"old": saved.id})).status_code == 400
            assert (await http.post("/rollback", json={"thread": "t", "to": "nothing"})).status_code == 404
            assert (await http.delete("/timeline")).status_code == 400
            job = await coordinator.submit("told", Ask(text="a"))
            assert (await http.delete(f"/jobs/{job.id}")).status_code == 409  # it has not ended


async def test_dead_letters_by_their_reason(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, caller(address) as http:
            job = await coordinator.submit("told", Ask(text="a"), expires=0.001)
            with pytest.raises(bp.JobFailed):
                async with app.worker(coordinator):
                    await job.result(timeout=DEADLINE)
            assert [each["id"] for each in await got(http, "/dead-letters", reason="expired")] == [job.id]
            assert await got(http, "/dead-letters", reason="poison", agent="told") == []
