"""Schedule: submits a job at the times of a cron expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from .listed import Listed

# What becomes of times that passed while no worker was up: the latest of them is made up for, or none.
CatchUp: TypeAlias = Literal["latest", "none"]


@dataclass(frozen=True, kw_only=True)
class Schedule(Listed):
    """A schedule as it is now. `options` are the `submit` options for its jobs.

    `last_at` is when it was last due, and `last_job` the job submitted then. If none could be submitted, it is None and
    `error` says why. While it is `paused`, it is not due. Of one that is `unreadable` (damaged, or encrypted with a key
    that is not here), there is only its name, when it was changed, and as `error` what is wrong.
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
    paused: bool = False
    unreadable: bool = False
