"""The class of each error, for programs that decide by more than the status."""

from __future__ import annotations

from typing import Any

import batonpass as bp

from .service import caller, service_of


class Ask(bp.Contract, name="types.ask"):
    text: str = ""


app = bp.App("types")


@app.agent("narrow", accepts=Ask, returns=Ask, max_waiting=2)
async def narrow(ask: Ask, ctx: bp.Context) -> Ask:
    return ask


async def test_one_status_has_several(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with (
            bp.connect(sqlite_url, app=app) as coordinator,
            caller(address) as http,
            caller(address, "") as open_,
        ):
            job = await coordinator.submit("narrow", Ask(text="rain"), key="once", thread="desk")
            [first, *_] = [event async for event in coordinator.events()]
            await (await coordinator.submit("narrow", Ask())).cancel()
            await coordinator.submit("narrow", Ask())
            await coordinator.trim_events(1)
            given = {"agent": "narrow", "payload": {}}
            wrong: list[tuple[str, dict[str, Any], int, str]] = [
                ("/jobs", {**given, "key": "once"}, 409, "KeyConflict"),
                ("/jobs", {**given, "thread": "desk", "on_busy": "reject"}, 409, "ThreadBusy"),
                (f"/jobs/{job.id}/answer", {"answer": 1}, 409, "WrongState"),
                (f"/jobs/{job.id}/redrive", {}, 409, "WrongState"),
                ("/jobs", given, 503, "Overloaded"),
                ("/jobs", {**given, "agent": "nobody"}, 422, "UnknownAgent"),
                ("/jobs", {**given, "payload": {"text": 1}}, 422, "ContractViolation"),
                ("/jobs", {**given, "delay": -1}, 422, "BadSetup"),
                ("/jobs", {**given, "delays": 1}, 400, "Refused"),
                ("/jobs/nonsense/cancel", {}, 404, "NotFound"),
                ("/job", {}, 404, "Refused"),
            ]
            for path, sent, status, kind in wrong:
                reply = await http.post(path, json=sent)
                told = reply.json()
                assert (reply.status_code, told["type"]) == (status, kind), (path, sent, told)
                assert issubclass(getattr(bp, kind), bp.BatonpassError)
                assert told.get("job_id") == (job.id if kind in ("KeyConflict", "ThreadBusy") else None)
            gone = await http.get("/events", params={"after": first.cursor})
            assert (gone.status_code, gone.json()["type"]) == (410, "Trimmed"), gone.text
            stranger = await open_.get("/jobs")
            assert (stranger.status_code, stranger.json()["type"]) == (401, "Refused")
