"""`GET /metrics`: what Prometheus reads of a service."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from prometheus_client.parser import text_string_to_metric_families

import batonpass as bp
from batonpass.coordinator.commands import Declare

from ..workers.serving import Ask, Reply, reached, serving
from .service import TOKEN, app, asked, caller, service

failing = bp.App("failing")


@failing.agent('bad "name"', accepts=Ask, returns=Reply, retries=1)
def bad(ask: Ask) -> Reply:
    raise ValueError("no")


async def read(http: Any) -> dict[str, Any]:
    """Each metric's value: those of agents by agent."""
    reply = (await http.get("/metrics")).raise_for_status()
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    found: dict[str, Any] = {}
    for family in text_string_to_metric_families(reply.text):
        assert family.name.startswith("batonpass_")
        assert family.documentation
        for sample in family.samples:
            if family.type != "gauge":
                continue
            if sample.labels:
                [label] = sample.labels.values()
                found.setdefault(sample.name, {})[label] = sample.value
            else:
                found[sample.name] = sample.value
    return {name.removeprefix("batonpass_"): value for name, value in found.items()}


@pytest.mark.each_store
async def test_what_is_measured(store_url: str) -> None:
    with service(store_url) as address:
        async with caller(address) as http:
            async with bp.connect(store_url, app=app) as coordinator:
                await coordinator.submit("plain", Ask(), priority="high")
                await coordinator.submit("plain", Ask())
                await coordinator.submit("graph", Ask(), delay=100)
            with anyio.fail_after(10):
                while (found := await read(http))["jobs_waiting_oldest_seconds"]["plain"] < 0.01:
                    await anyio.sleep(0.005)
            assert found["jobs_waiting"] == {"plain": 2, "graph": 0, "deep": 0}
            assert found["jobs_waiting_oldest_seconds"]["plain"] < 10
            assert found["jobs_waiting_oldest_seconds"]["graph"] == 0
            assert found["workers_live"] == {"plain": 0, "graph": 0, "deep": 0}
            async with bp.connect(store_url) as coordinator:  # one that can't be read does not hide the others
                await coordinator.store.acall(Declare({"odd": b"damaged"}))
            numbers = ("jobs_leased", "jobs_scheduled", "questions_open", "dead_letters")
            assert [sum(found[name].values()) for name in numbers] == [0, 1, 0, 0]
            assert found["jobs_scheduled"] == {"plain": 0, "graph": 1, "deep": 0}

            async with serving(app, store_url), serving(failing, store_url) as other:
                job = await other.submit('bad "name"', Ask())
                await reached(job, bp.JobState.FAILED)
                await asked(http, 2)
                found = await read(http)
            assert found["workers_live"] == {"plain": 1, "graph": 1, "deep": 1, 'bad "name"': 1}
            assert found["jobs_waiting"]["plain"] == found["jobs_waiting_oldest_seconds"]["plain"] == 0
            assert [sum(found[name].values()) for name in numbers] == [0, 1, 2, 1]
            assert found["questions_open"] == {"plain": 2, "graph": 0, "deep": 0, 'bad "name"': 0}
            assert found["dead_letters"] == {"plain": 0, "graph": 0, "deep": 0, 'bad "name"': 1}


@pytest.mark.each_store
async def test_an_agent_that_no_worker_has_declared(store_url: str) -> None:
    """Its jobs were not counted, so nobody was alarmed if no worker came up at all."""
    with service(store_url) as address:
        async with caller(address) as http, bp.connect(store_url, app=failing) as coordinator:
            for _ in range(3):
                await coordinator.submit(bad, Ask())
            found = await read(http)
            assert (found["jobs_waiting"]['bad "name"'], found["workers_live"]['bad "name"']) == (3, 0)
            for job in await coordinator.jobs():
                await coordinator.job(job.id).cancel()
            assert 'bad "name"' not in (await read(http))["jobs_waiting"]


async def test_who_may_read_it(sqlite_url: str) -> None:
    with service(sqlite_url) as address:
        for token, status in (("", 401), ("wrong", 401), (TOKEN, 200)):
            async with caller(address, token) as http:
                assert (await http.get("/metrics")).status_code == status
