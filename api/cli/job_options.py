"""The options of commands that make a job."""

from __future__ import annotations

from typing import Annotated

import typer

from batonpass.contracts.job import Priority
from batonpass.contracts.options import JobOptions

from .options import duration, guarded, header, moment, seconds

Key = Annotated[str | None, typer.Option(help="Idempotency key: a known key returns the first job")]
KeyTtl = Annotated[
    str | None, typer.Option(metavar="TIME", help="With --key: know it this long after the job's end (default: 1d)")
]
Delay = Annotated[str | None, typer.Option(metavar="TIME", help="Start after this long: seconds, or 90s, 5m, 12h")]
At = Annotated[
    str | None, typer.Option(help="Start at this time, e.g. 2031-05-01T09:00+02:00 (without a zone: local time)")
]
Rank = Annotated[
    Priority | None,
    typer.Option("--priority", help="Run before or after other jobs, at every agent (default: normal)"),
]
Expires = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Fail if no worker starts it within this long: seconds, or 90s, 5m, 12h"),
]
Deadline = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Fail if it has not ended within this long, or by a time like --at"),
]
Trace = Annotated[
    list[str] | None,
    typer.Option(metavar="HEADER=VALUE", help="The caller's trace context, e.g. traceparent=00-...; repeatable"),
]


def job_options(
    *,
    key: str | None,
    key_ttl: str | None,
    delay: str | None,
    at: str | None,
    priority: Priority | None,
    expires: str | None,
    deadline: str | None,
    guard: str | None,
    trace: list[str] | None,
) -> JobOptions:
    """Those that are given, as `submit` and `fork` take them."""
    options: JobOptions = {}
    if key is not None:
        options["key"] = key
    if key_ttl is not None:
        options["key_ttl"] = duration(key_ttl, "--key-ttl")
    if delay is not None:
        options["delay"] = duration(delay, "--delay")
    if at:
        options["at"] = moment(at, "--at")
    if priority is not None:
        options["priority"] = priority
    if expires is not None:
        options["expires"] = duration(expires, "--expires")
    if deadline:
        left = seconds(deadline)
        options["deadline"] = (
            moment(deadline, "--deadline", also="seconds, a duration such as 2h, or ") if left is None else left
        )
    if guard is not None:
        options["guard"] = guarded(guard)
    if trace:
        options["trace"] = dict(map(header, trace))
    return options
