"""A child process listens in a thread of its own, so it hears that its worker stops whatever it is doing."""

from __future__ import annotations

import asyncio
from threading import Thread

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator.book import queue_of
from batonpass.coordinator.commands import Claim
from batonpass.workers.adapters import load_adapter
from batonpass.workers.running import Runner
from batonpass.workers.session import LeaseSession
from batonpass.workers.underway import Underway

from .serving import Ask, Reply, kinds, only


async def test_an_order_that_comes_just_before_a_job_starts(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    async def agent(ask: Ask, ctx: bp.Context) -> Reply:
        for step in "ab":
            await ctx.step(step, ran.append, step)
        return Reply(text="done")

    def underway(session: LeaseSession | None, host: asyncio.Task[object] | None) -> Underway:
        hearing = Thread(target=child.drain)
        hearing.start()
        hearing.join()
        return Underway(session, host)

    app = only(agent)
    async with bp.connect(sqlite_url, app=app) as coordinator:
        job = await coordinator.submit("a", Ask())
        store = coordinator.store
        child = Runner(app, store, coordinator.book, None, {"function": load_adapter("function")}, None)
        monkeypatch.setattr("batonpass.workers.running.Underway", underway)
        queue = queue_of("a", app.versions(Ask)[0])
        [delivery] = await store.acall(Claim("w", ((queue, 30_000),), (mint("l"),)))
        await child.run(delivery)
        assert (await kinds(coordinator, job))[-1] == "job.released"
        assert ran == ["a"]
