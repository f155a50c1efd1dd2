"""What a job waits for, and lists of a time: over HTTP and on the page as on the command line."""

from __future__ import annotations

from datetime import timedelta

import batonpass as bp

from ..workers.serving import Reply, only
from .service import caller, service_of
from .visitor import visiting

app = only(lambda ask: Reply(text=ask.text))


async def test_it_is_told(sqlite_url: str) -> None:
    lacks = "a worker: no live worker serves agent 'a' with "
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, caller(address) as http:
            await coordinator.declare(app)
            job = await coordinator.submit("a", {})
            told = (await http.get(f"/jobs/{job.id}")).raise_for_status().json()
            assert told["waits_for"].startswith(lacks)
            async with visiting(address) as visitor:
                assert f"Waits for {lacks}" in await visitor.open(f"/ui/jobs/{job.id}")
            await job.cancel()
            assert (await http.get(f"/jobs/{job.id}")).json()["waits_for"] is None


async def test_jobs_of_a_time(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, caller(address) as http:
            await coordinator.declare(app)
            made = (await (await coordinator.submit("a", {})).info()).created_at
            later = (made + timedelta(milliseconds=1)).isoformat()
            for path in ("/jobs", "/dead-letters"):
                assert (await http.get(path, params={"since": later})).raise_for_status().json() == []
            assert len((await http.get("/jobs", params={"until": later, "since": made.isoformat()})).json()) == 1
            assert (await http.get("/jobs", params={"since": "2031-05-01T09:00"})).status_code == 400
