"""Scheduling: the part of a coordinator for recurring jobs, in async code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ..contracts.agent import Agent, name_of
from ..contracts.contract import Contract
from ..contracts.duration import Duration
from ..contracts.guard import DEFAULT, Guard
from ..contracts.job import OnBusy, Priority
from ..contracts.schedule import CatchUp, Schedule
from .calls import adrive, schedules
from .history import History
from .job import Job

P = TypeVar("P", bound=Contract)


class Scheduling(History):
    """The part of `Coordinator` for recurring jobs."""

    async def schedule(
        self,
        name: str,
        agent: str | Agent[P],
        payload: P | Mapping[str, Any],
        *,
        cron: str,
        timezone: str = "UTC",
        catch_up: CatchUp = "latest",
        thread: str | None = None,
        on_busy: OnBusy = "reject",
        priority: Priority = "normal",
        expires: Duration | None = None,
        deadline: Duration | None = None,
        guard: Guard = DEFAULT,
    ) -> None:
        """Submit a job at each time of a cron expression, until `unschedule`. It has five fields as in crontab(5), or
        six with the seconds first: `30 0 9 * * 1` is Mondays, 09:00:30.

        An existing name is replaced, and times missed before are then not made up for. An unchanged schedule stays as
        it is, so you can call this at every start.

        Any worker submits due jobs, each time once. If the clocks skip a time, its job is submitted when they have been
        put forward. If they repeat a time, it is submitted once. Only what comes every hour or every few (the hours are
        `*` or such as `*/2`) goes by the time that really passes: a repeated time comes twice, and a skipped one as
        long after the one before as ever (of `0 */2 * * *`, 03:00 in place of 02:00). If no worker was running, the
        latest missed time is made up for, or none (`catch_up`). If a job can't be submitted (its payload no longer
        fits, its thread is busy), that is logged and shown in `schedules()` until the next time.

        The options are those of `submit`. `deadline` counts from when each job is submitted. Raises like `submit`, and
        `BadSetup` for an invalid expression or time zone.
        """
        options = schedules.options(thread, on_busy, priority, expires, deadline, guard)
        to = name_of(agent)
        call = schedules.put(self.book.knowing(agent), name, to, payload, cron, timezone, catch_up, options)
        await adrive(self.store, call)

    async def schedules(self) -> list[Schedule]:
        """All schedules, by name."""
        return await adrive(self.store, schedules.every())

    async def unschedule(self, name: str) -> None:
        """Delete a schedule. Jobs it submitted stay. Raises `NotFound` if there is no such schedule."""
        await adrive(self.store, schedules.remove(name))

    async def pause_schedule(self, name: str) -> None:
        """Let a schedule rest until `resume_schedule`, also if `schedule` is called meanwhile. Raises `NotFound`."""
        await adrive(self.store, schedules.pause(name, paused=True))

    async def resume_schedule(self, name: str) -> None:
        """Let a paused schedule go on. Times that passed meanwhile are not made up for. Raises `NotFound`."""
        await adrive(self.store, schedules.pause(name, paused=False))

    async def run_schedule(self, name: str) -> Job[Any]:
        """Submit a schedule's job now, beside those of its times, also if it is paused. Raises `NotFound`, and like
        `submit`."""
        return Job(self.store, self.book, (await adrive(self.store, schedules.run(self.book, name))).id, None)
