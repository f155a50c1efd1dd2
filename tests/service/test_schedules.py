"""Schedules over HTTP: added, listed, replaced, removed."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp

from ..workers.serving import Ask, Reply
from .service import caller, service_of

app = bp.App("scheduling")
GIVEN: dict[str, Any] = {
    "name": "every morning/Köln",
    "agent": "told",
    "payload": {"text": "a"},
    "cron": "0 9 * * 1-5",
    "timezone": "Europe/Berlin",
    "thread": "mornings",
    "on_busy": "queue",
    "priority": "high",
    "deadline": 60.5,
    "guard": {"hops": 7},
}


@app.agent("told", accepts=Ask, returns=Reply)
def told(ask: Ask) -> Reply:
    return Reply(text=ask.text)


@pytest.mark.each_store
async def test_a_schedule_comes_and_goes(store_url: str) -> None:
    async with bp.connect(store_url, app=app) as coordinator:
        with service_of(app, store_url) as address:
            async with caller(address) as http:
                assert (await http.post("/schedules", json=GIVEN)).json() == {"name": GIVEN["name"]}
                [listed] = (await http.get("/schedules")).json()
                assert listed == (await coordinator.schedules())[0].as_dict() | {
                    name: listed[name] for name in ("changed_at", "next_at")
                }
                assert listed["options"]["guard"]["hops"] == 7
                assert (await http.post("/schedules", json={**GIVEN, "cron": "0 8 * * *"})).status_code == 200
                assert [each["cron"] for each in (await http.get("/schedules")).json()] == ["0 8 * * *"]
                named = {"name": GIVEN["name"]}
                paused = await http.post("/schedules/pause", json=named)
                assert paused.json() == {"name": GIVEN["name"], "paused": True}
                job = (await http.post("/schedules/run", json=named)).json()["id"]
                assert (await coordinator.job(job).info()).thread == "mornings"
                assert (await http.post("/schedules/resume", json=named)).json()["paused"] is False
                assert (await http.post("/schedules/run", json={"name": "none"})).status_code == 404
                gone = await http.delete("/schedules", params={"name": GIVEN["name"]})
                assert gone.json() == {"name": GIVEN["name"], "removed": True}
                assert (await http.get("/schedules")).json() == []
                assert (await http.delete("/schedules", params={"name": "nothing"})).status_code == 404


async def test_what_is_no_schedule_is_refused(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with caller(address) as http:
            cases: list[tuple[dict[str, Any], int, str]] = [
                ({"cron": "9 o'clock"}, 422, "9 o'clock"),
                ({"cron": f"{'*/1,' * 10_000}1 * * * *"}, 422, "40,009 characters"),
                ({"timezone": "Berlin"}, 422, "Berlin"),
                ({"agent": "nobody"}, 422, "nobody"),
                ({"payload": {"text": 5}}, 422, "text"),
                ({"catch_up": "all"}, 400, "catch_up"),
                ({"guard": {"hop": 7}}, 400, "guard.hop"),
            ]
            for wrong, status, said in cases:
                reply = await http.post("/schedules", json={**GIVEN, **wrong})
                assert (reply.status_code, said in reply.text) == (status, True), reply.text
            assert (await http.get("/schedules")).json() == []
