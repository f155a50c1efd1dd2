"""Scheduling: what a coordinator does at set times, in async code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ..contracts.agent import Agent, name_of
from ..contracts.contract import Contract
from ..contracts.duration import Duration
from ..contracts.job import OnBusy, Priority
from ..contracts.schedule import CatchUp, Schedule
from .calls import adrive, schedules
from .history import History

P = TypeVar("P", bound=Contract)


class Scheduling(History):
    """The part of `Coordinator` that has jobs submitted again and again."""

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
    ) -> None:
        """Give an agent a job at the times of a cron expression, until `unschedule`. The same name again replaces it:
        what was due before is not made up for then. If nothing is changed by that, it goes on as it is.

        Any worker submits what is due, each time once. A time that the clocks skip comes when they have been put
        forward, one that they repeat comes once. Of times that passed while no worker was up the latest is made up for,
        or none (`catch_up`). If a job can't be submitted then (its payload does not fit any more, its thread is busy),
        that is logged, and stands in `schedules()` until the next time. The options are those of `submit`. Raises as
        `submit` does, and `BadSetup` for an expression or time zone that is none.
        """
        options = schedules.options(thread, on_busy, priority, expires)
        to = name_of(agent)
        call = schedules.put(self.book, name, to, payload, cron, timezone, catch_up, options)
        await adrive(self.store, call)

    async def schedules(self) -> list[Schedule]:
        """All schedules, by name."""
        return await adrive(self.store, schedules.every())

    async def unschedule(self, name: str) -> None:
        """Remove a schedule; what it submitted stays. `NotFound` if there is none of that name."""
        await adrive(self.store, schedules.remove(name))
