"""Schedules: what programs can ask about them."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from batonpass.contracts.job import OnBusy, Priority
from batonpass.contracts.schedule import CatchUp, Schedule
from batonpass.coordinator.client import Coordinator

from .answers import Paused, Scheduled, Submitted, Unscheduled
from .bodies import All, Body, Limits, Query
from .operation import Operation
from .refusing import answer


class ScheduleForm(Body):
    """A schedule, and the options of the jobs that it submits."""

    name: str
    agent: str
    payload: dict[str, Any]
    """What the agent's contract accepts."""
    cron: str
    """When: a cron expression, such as `0 9 * * 1-5`. Of six fields, the first is the seconds."""
    timezone: str = "UTC"
    """Of its times, such as `Europe/Berlin`."""
    catch_up: CatchUp = "latest"
    """Which of the times that were missed is made up for."""
    thread: str | None = None
    """Run on this thread instead of new ones."""
    on_busy: OnBusy = "reject"
    """If another job runs on the thread: see `POST /jobs`."""
    priority: Priority = "normal"
    """Run before or after other jobs, at every agent."""
    expires: float | None = None
    """Fail a job that no worker starts within so many seconds."""
    deadline: float | None = None
    """Fail a job that has not ended so many seconds after it was submitted."""
    guard: Limits | None = None
    """The limits of its jobs."""


class NamedSchedule(Body):
    """Which schedule is meant."""

    name: str


class OneSchedule(Query):
    """Which schedule is meant."""

    name: str


def schedule_operations(coordinator: Coordinator) -> list[Operation]:
    """What can be asked about schedules."""
    ends = _Schedules(coordinator)
    return [
        Operation("GET", "/schedules", ends.schedules, All, list[Schedule]),
        Operation("POST", "/schedules", ends.schedule, ScheduleForm, Scheduled),
        Operation("POST", "/schedules/pause", ends.pause_schedule, NamedSchedule, Paused),
        Operation("POST", "/schedules/resume", ends.resume_schedule, NamedSchedule, Paused),
        Operation("POST", "/schedules/run", ends.run_schedule, NamedSchedule, Submitted),
        Operation("DELETE", "/schedules", ends.unschedule, OneSchedule, Unscheduled),
    ]


class _Schedules:
    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    async def schedules(self, _: Request, __: All) -> Response:
        """List schedules: when they are due, and how their last run went."""
        return answer([each.as_dict() for each in await self._coordinator.schedules()])

    async def schedule(self, _: Request, given: ScheduleForm) -> Response:
        """Add a schedule, or replace the one with this name."""
        options = given.model_dump(exclude={"name", "agent", "payload", "guard"})
        if given.guard is not None:
            options["guard"] = given.guard.guard
        await self._coordinator.schedule(given.name, given.agent, given.payload, **options)
        return answer(vars(Scheduled(given.name)))

    async def pause_schedule(self, _: Request, given: NamedSchedule) -> Response:
        """Let a schedule rest."""
        await self._coordinator.pause_schedule(given.name)
        return answer(vars(Paused(given.name, paused=True)))

    async def resume_schedule(self, _: Request, given: NamedSchedule) -> Response:
        """Let a paused schedule go on. Times that passed meanwhile are not made up for."""
        await self._coordinator.resume_schedule(given.name)
        return answer(vars(Paused(given.name, paused=False)))

    async def run_schedule(self, _: Request, given: NamedSchedule) -> Response:
        """Submit a schedule's job now, beside those of its times."""
        return answer(vars(Submitted((await self._coordinator.run_schedule(given.name)).id)))

    async def unschedule(self, _: Request, wanted: OneSchedule) -> Response:
        """Remove a schedule. Jobs that it submitted stay."""
        await self._coordinator.unschedule(wanted.name)
        return answer(vars(Unscheduled(wanted.name)))
