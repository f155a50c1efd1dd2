"""Options: what callers may say of a job when they submit it, and of a question when they ask it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from .duration import Duration
from .guard import Guard
from .job import OnBusy, Priority


class SubmitOptions(TypedDict, total=False):
    """What `submit` takes beside agent and payload. Durations are seconds or a timedelta, times have a time zone.

    With `key` the same intent is submitted once: the same key and payload answer with the first job until `key_ttl`
    (default: a day) after its end, another payload raises `KeyConflict`. Payloads are the same if they say the same, by
    whichever way they come (Python, command line, HTTP): a field that is left out counts as its default, and neither
    the order of fields nor an id or a time that the contract makes anew each time is looked at.
    `thread` puts the job's checkpoints on a thread of yours; by default it has its own, named by its id. If another job
    has not ended there, `on_busy` decides: "reject" (the default) raises `ThreadBusy`, "queue" has the new one wait for
    its turn, "interrupt" cancels the other and goes on from its last checkpoint, "rollback" cancels it and goes on from
    where it began.
    The job is not started before `delay` is over, or before `at`, by the store's clock; a time that is past is now.
    `priority` ("high", "normal", "low") is that of all its deliveries, at every agent: a free worker takes the higher
    one first. One time in ten it looks the other way round, so that what is low comes to its turn under any load.
    A job that no worker has started within `expires` from now fails, for the reason "expired"; one that has not ended
    by its `deadline` (from now, or a time) fails for the reason "deadline", whatever it does: running code is stopped
    as at a cancel. Both are dead letters; redriven, such a job has all the time that it takes.
    `guard` limits how far the job may be passed on and what it may cost: see `Guard`, whose defaults hold otherwise.
    """

    key: str | None
    key_ttl: Duration
    thread: str | None
    delay: Duration
    at: datetime | None
    priority: Priority
    expires: Duration | None
    deadline: Duration | datetime | None
    guard: Guard
    on_busy: OnBusy


class AskOptions(TypedDict, total=False):
    """What `ctx.ask` takes besides the question and its contract; see there."""

    timeout: Duration | None
    default: Any
    assignee: str | None
    escalate: str | Sequence[tuple[str, Duration]] | None
