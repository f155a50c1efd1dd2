"""Run: one job of a tested adapter on a store of its own, delivered in this process or in one that may be killed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from batonpass.adapters.adapter import Adapter
from batonpass.app import App
from batonpass.contracts.agent import Agent
from batonpass.contracts.checkpoint import Checkpoint
from batonpass.contracts.contract import Contract
from batonpass.contracts.job import JobInfo
from batonpass.coordinator.connection import connect
from batonpass.coordinator.store import Store
from batonpass.testing.apart import give_back, was_killed
from batonpass.testing.serving import claimed
from batonpass.testing.watched import WatchedStore
from batonpass.testing.work import Work
from batonpass.workers.running import Runner


class Run:
    """A job at an agent that does `work`."""

    def __init__(self, folder: Path, adapter: Callable[[], Adapter], agent: Agent[Any], work: Work) -> None:
        self.work = work
        self._url = f"sqlite:///{folder / 'tested.db'}"
        self._adapter = adapter
        self._agent = agent
        self._app = App("testing")
        self._app.add(agent)
        with connect(self._url, app=self._app) as coordinator:
            self._job = coordinator.submit(agent, agent.accepts()).id

    def deliver(self) -> None:
        """Claim the job and run it until it ends, fails or asks."""
        asyncio.run(self._deliver())

    async def _deliver(self) -> None:
        async with connect(self._url, app=self._app) as coordinator:
            delivery = await claimed(coordinator, self._agent)
            store = cast("Store", WatchedStore(coordinator.store, self.work.writing, self.work.wrote))
            adapters = {self._agent.kind: self._adapter()}
            await Runner(self._app, store, coordinator.book, None, adapters, None).run(delivery)

    def deliver_apart(self) -> bool:
        """`deliver` in a forked process. Returns whether that was killed. If so, the job is given back, as a worker
        does when its child has died."""
        killed = was_killed(self.deliver)
        if killed:
            with connect(self._url, app=self._app) as coordinator:
                give_back(coordinator)
        return killed

    def cancel(self) -> None:
        """Cancel the job, as a client does."""
        with connect(self._url, app=self._app) as coordinator:
            coordinator.job(self._job).cancel()

    def info(self) -> JobInfo:
        """How the job is."""
        with connect(self._url, app=self._app) as coordinator:
            return coordinator.job(self._job).info()

    def result(self) -> Contract:
        """The job's result. Raises the job's error if it did not complete."""
        with connect(self._url, app=self._app) as coordinator:
            result: Contract = coordinator.job(self._job, returns=self._agent.returns).result(timeout=0)
            return result

    def checkpoints(self) -> list[Checkpoint]:
        """The job's checkpoints, newest first."""
        with connect(self._url, app=self._app) as coordinator:
            thread = coordinator.job(self._job).info().thread
            return [coordinator.restore(summary.id) for summary in coordinator.timeline(thread, limit=500)]
