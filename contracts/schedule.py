"""Schedule: a job that is submitted again and again, at the times of a cron expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from .jsonable import jsonable

# What becomes of times that passed while no worker was up: the latest of them is made up for, or none.
CatchUp: TypeAlias = Literal["latest", "none"]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A schedule as it is now. `options` are those of `submit` that its jobs get.

    `last_at` is the time that it was due last, `last_job` the job of that time; None and an `error` if none could be
    submitted then.
    """

    name: str
    agent: str
    payload: Mapping[str, Any]
    cron: str
    timezone: str
    catch_up: CatchUp
    options: Mapping[str, Any]
    changed_at: datetime
    next_at: datetime | None
    last_at: datetime | None
    last_job: str | None
    error: str | None

    def as_dict(self) -> dict[str, Any]:
        """Its values as JSON has them: times are text."""
        from dataclasses import asdict

        return jsonable(asdict(self))
