"""Pauses of agents over HTTP, on the page, and in the metrics."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp

from ..apps.page_app import Draft, app
from .service import caller, service_of
from .test_metrics import read
from .visitor import visiting


@pytest.mark.each_store
async def test_programs_pause_agents(store_url: str) -> None:
    with service_of(app, store_url) as address:
        async with bp.connect(store_url, app=app) as coordinator, caller(address) as http:

            async def said(path: str, **given: Any) -> Any:
                return (await http.post(path, json=given)).raise_for_status().json()

            job = await coordinator.submit("free", Draft())
            changed = [await said("/agents/pause", agent="free", reason="no model") for _ in range(2)]
            assert changed == [{"agent": "free", "paused": True, "changed": now} for now in (True, False)]
            assert (await http.get(f"/jobs/{job.id}")).json()["paused"]["reason"] == "no model"
            [listed] = (await http.get("/jobs")).json()
            assert listed["paused"]["reason"] == "no model"
            agents = {each["name"]: each["paused"] for each in (await http.get("/agents")).json()}
            assert agents.pop("free") == listed["paused"]
            assert set(agents.values()) == {None}
            paused = (await read(http))["agent_paused"]
            assert (paused.pop("free"), set(paused.values())) == (1, {0})
            assert await said("/agents/resume", agent="free") == {"agent": "free", "paused": False, "changed": True}
            assert (await read(http))["agent_paused"]["free"] == 0
            reply = await http.post("/agents/pause", json={"agent": "fre"})
            assert (reply.status_code, "has an agent 'fre'" in reply.text) == (422, True)


async def test_people_pause_agents(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("free", Draft())
            await visitor.open("/ui/")
            assert "no worker starts its jobs" in await visitor.send("/ui/pause", agent="free", reason="<no> model")
            assert "&lt;no&gt; model" in visitor.page
            await visitor.open(f"/ui/jobs/{job.id}")
            assert "free is paused since" in visitor.page
            await visitor.open("/ui/jobs")
            assert "agent paused" in visitor.page
            await visitor.open("/ui/")
            assert "The agent goes on" in await visitor.send("/ui/resume", agent="free")
            assert "&lt;no&gt; model" not in visitor.page
            assert (await job.info()).paused is None
