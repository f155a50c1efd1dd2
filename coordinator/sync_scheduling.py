"""SyncScheduling: the part of a coordinator for recurring jobs, in sync code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ..contracts.agent import Agent, name_of
from ..contracts.contract import Contract
from ..contracts.duration import Duration
from ..contracts.guard import DEFAULT, Guard
from ..contracts.job import OnBusy, Priority
from ..contracts.schedule import CatchUp, Schedule
from .calls import drive, schedules
from .job import SyncJob
from .sync_history import SyncHistory

P = TypeVar("P", bound=Contract)


class SyncScheduling(SyncHistory):
    """`Scheduling` for sync code. See there what each method means and raises."""

    def schedule(
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
        """Submit a job at each time of a cron expression, until `unschedule`."""
        options = schedules.options(thread, on_busy, priority, expires, deadline, guard)
        to = name_of(agent)
        call = schedules.put(self.book.knowing(agent), name, to, payload, cron, timezone, catch_up, options)
        drive(self.store, call)

    def schedules(self) -> list[Schedule]:
        """All schedules, by name."""
        return drive(self.store, schedules.every())

    def unschedule(self, name: str) -> None:
        """Delete a schedule. Jobs it submitted stay. Raises `NotFound` if there is no such schedule."""
        drive(self.store, schedules.remove(name))

    def pause_schedule(self, name: str) -> None:
        """Let a schedule rest until `resume_schedule`."""
        drive(self.store, schedules.pause(name, paused=True))

    def resume_schedule(self, name: str) -> None:
        """Let a paused schedule go on."""
        drive(self.store, schedules.pause(name, paused=False))

    def run_schedule(self, name: str) -> SyncJob[Any]:
        """Submit a schedule's job now."""
        return SyncJob(self.store, self.book, drive(self.store, schedules.run(self.book, name)).id, None)
