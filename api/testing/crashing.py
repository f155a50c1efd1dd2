"""Crashing: a job whose worker is killed at every moment that matters."""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from batonpass.app import App
from batonpass.contracts.agent import Agent
from batonpass.contracts.contract import Contract
from batonpass.contracts.errors import BadSetup, JobError, ResultTimeout
from batonpass.contracts.inbox import InboxItem
from batonpass.contracts.job import JobState
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.commands import Command, Fence, ListJobs, ReadJob
from batonpass.coordinator.connection import connect
from batonpass.coordinator.store import Store
from batonpass.coordinator.sync_client import SyncCoordinator
from batonpass.workers.adapters import load_adapter

from .apart import give_back, was_killed
from .watched import WatchedStore

_STDERR = 2
Answers = Callable[[InboxItem], Any]


@dataclass(frozen=True)
class Crash:
    """How a job ended after its worker was killed.

    - `at` is the write before which the worker was killed, such as "write 2: Save at research". "" if it was not.
    - `result` is what the job returned. None if it did not complete: then `error` says why.
    """

    at: str
    result: Any = None
    error: JobError | None = None


def crash_everywhere(
    app: App,
    agent: str | Agent[Any],
    payload: Contract | Mapping[str, Any],
    *,
    returns: type[Contract] | None = None,
    answer: Answers | None = None,
    timeout: float = 60.0,
) -> list[Crash]:
    """Run a job once undisturbed, and then once for each write of its worker: a step, a checkpoint, a handoff, its end.

    Each time the worker's process is killed with SIGKILL just before that write, when most is lost, and another process
    continues the job. Returns how each of these jobs ended, the undisturbed one first:

        for crash in crash_everywhere(app, "research", Topic(text="rain"), returns=Report):
            assert crash.result == Report(body="rain has 4 letters"), crash

    `answer` answers the questions that the job asks people. `timeout` is for each process, in seconds. The processes
    are forked (Linux, macOS), and each job has a SQLite file of its own. What they keep in memory is gone, so to count
    how often something ran, write to a file.
    """
    for kind in {agent.kind for agent in app}:
        load_adapter(kind)  # once, because a framework may take seconds to import in each process
    with TemporaryDirectory(prefix="batonpass-") as folder:
        play = partial(_Play, app=app, answer=answer, timeout=timeout)
        calm = play(Path(folder, "calm"))
        found = [calm.crash(agent, payload, returns, kill_at=0)]
        for number in range(1, len(calm.writes()) + 1):
            found.append(play(Path(folder, str(number))).crash(agent, payload, returns, kill_at=number))
        return found


class _Play:
    """One job, in a folder of its own."""

    def __init__(self, folder: Path, *, app: App, answer: Answers | None, timeout: float) -> None:
        folder.mkdir()
        self._url = f"sqlite:///{folder / 'tested.db'}"
        self._log = folder / "writes.log"
        self._app = app
        self._answer = answer
        self._timeout = timeout

    def writes(self) -> list[str]:
        """The writes that all processes were about to send."""
        return self._log.read_text().splitlines() if self._log.exists() else []

    def crash(self, agent: str | Agent[Any], payload: Any, returns: type[Contract] | None, kill_at: int) -> Crash:
        """Run the job to its end. The worker is killed before the write with that number (0: never)."""
        with connect(self._url, app=self._app) as coordinator:
            job = coordinator.submit(agent, payload, returns=returns)
            while True:
                if self._killed(coordinator, job.id, kill_at):
                    give_back(coordinator)
                try:
                    return Crash(self._at(kill_at), job.result(timeout=0))
                except ResultTimeout:  # it asks, or was killed
                    self._answer_all(coordinator)
                except JobError as error:
                    return Crash(self._at(kill_at), error=error)

    def _at(self, kill_at: int) -> str:
        return f"write {kill_at}: {writes[kill_at - 1]}" if 0 < kill_at <= len(writes := self.writes()) else ""

    def _killed(self, coordinator: SyncCoordinator, job_id: str, kill_at: int) -> bool:
        """Work in a new process until the job has ended or asks. Returns whether that process was killed."""
        began = time.monotonic()
        try:
            return was_killed(partial(self._work_in_time, job_id, kill_at))
        except AssertionError as error:
            late = time.monotonic() - began >= self._timeout
            why = f"the job did not get on in {self._timeout:g} s (timeout=)" if late else error
            raise AssertionError(f"{why}. {self._standing(coordinator, job_id)}") from None

    def _standing(self, coordinator: SyncCoordinator, job_id: str) -> str:
        """Where the job was when its process ended."""
        running = [row for row in coordinator.store.call(ListJobs(state=JobState.WORKING)) if row.lease]
        row = running[0] if running else coordinator.store.call(ReadJob(job_id))
        doing = "was running" if running else f"was not running: its job was {row.state}"
        writes = self.writes()
        after = f"after write {len(writes)}: {writes[-1]}" if writes else "before the first write"
        return f"Agent {row.agent!r} (hop {row.hop}) {doing}, {after}"

    def _work_in_time(self, job_id: str, kill_at: int) -> None:
        # Not by the event loop: an agent may block it. The job stays as it was at that moment.
        faulthandler.dump_traceback_later(self._timeout, exit=True, file=_STDERR)
        asyncio.run(self._work(job_id, kill_at))  # unlike AnyIO's, it also runs in a fork of a running loop

    async def _work(self, job_id: str, kill_at: int) -> None:
        async with connect(self._url, app=self._app) as coordinator:
            write = partial(self._write, coordinator.store, kill_at)
            watched = Coordinator(cast("Store", WatchedStore(coordinator.store, write)), coordinator.book)
            # One delivery at a time, so that writes have the same numbers each time.
            async with self._app.worker(watched, concurrency=1):
                await _until_it_stops(coordinator, job_id)

    def _write(self, store: Store, kill_at: int, command: Command[Any]) -> None:
        fence: Fence = cast("Any", command).fence
        with self._log.open("a") as log:
            log.write(f"{type(command).__name__} at {store.call(ReadJob(fence.job_id)).agent}\n")
        if len(self.writes()) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def _answer_all(self, coordinator: SyncCoordinator) -> None:
        for item in coordinator.inbox():
            if self._answer is None:
                raise BadSetup(
                    f"agent {item.agent!r} asks {item.question!r:.80}: pass answer=, a function of the question"
                )
            coordinator.answer(item.id, self._answer(item))


async def _until_it_stops(coordinator: Coordinator, job_id: str) -> None:
    job = coordinator.job(job_id)
    async for _ in coordinator.events(types="batonpass.job.*", follow=True):
        if (await job.info()).state.ended or await coordinator.inbox(limit=1):
            return
