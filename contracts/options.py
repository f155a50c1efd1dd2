"""Options: what `submit`, `fork`, `hand_off` and `ctx.ask` take besides their main arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from .duration import Duration
from .guard import Guard
from .job import OnBusy, Priority


class JobOptions(TypedDict, total=False):
    """Options of a job that continues from a checkpoint (`fork`, `hand_off`): those of `submit`, without the ones about
    its thread, because such a job has its own. See `SubmitOptions`."""

    key: str | None
    key_ttl: Duration
    delay: Duration
    at: datetime | None
    priority: Priority
    expires: Duration | None
    deadline: Duration | datetime | None
    guard: Guard
    trace: Mapping[str, str] | None


class SubmitOptions(JobOptions, total=False):
    """Options of `submit`. Durations are seconds or a timedelta. Times need a time zone.

    - `key` makes the submit to this agent idempotent. The same key with the same payload returns the first job, until
      `key_ttl` (default: a day) after it ended. Another payload raises `KeyConflict`. Payloads are compared by content,
      whether they come from Python, the command line or HTTP: a missing field counts as its default, and the order of
      fields doesn't matter, nor does an id or a time that the contract generates anew each time.
    - `thread` puts the job's checkpoints on your own thread. By default the job has a new one, named by its id. If
      another job still runs there, `on_busy` decides: "reject" (the default) raises `ThreadBusy`, "queue" waits for its
      turn, "interrupt" cancels the other job and continues from its last checkpoint, "rollback" cancels it and
      continues from where it began.
    - `delay` or `at` is when the job may start, by the store's clock. A time in the past means now.
    - `priority` ("high", "normal", "low") applies to the job at every agent. Workers take higher ones first, except one
      time in ten, so that normal and low ones make progress under any load.
    - `expires` fails the job (reason "expired") if no worker has started it by then.
    - `deadline` (a duration from now, or a time) fails the job (reason "deadline") if it has not ended by then. Running
      code is stopped as on cancel. A time that is over is refused. A job that failed for either reason is a dead
      letter, and has no time limit once redriven.
    - `guard` limits the job's path and what it may cost: see `Guard` for the defaults.
    - `trace` is the caller's trace context, as the W3C's headers by name ({"traceparent": ...}). It goes with the job
      unchanged, through handoffs and to children: `ctx.trace`. If an app has a `tracer`, the default is OpenTelemetry's
      current context, and without one the job has a trace of its own.
    """

    thread: str | None
    on_busy: OnBusy


class AskOptions(TypedDict, total=False):
    """Options of `ctx.ask`: see there."""

    timeout: Duration | None
    default: Any
    assignee: str | None
    escalate: str | Sequence[tuple[str, Duration]] | None
