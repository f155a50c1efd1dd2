"""Commands about schedules: schedule add, list, pause, resume, run, remove."""

from __future__ import annotations

from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from batonpass.contracts.guard import Guard
from batonpass.contracts.job import OnBusy, Priority
from batonpass.contracts.schedule import CatchUp, Schedule

from .jobs import mapping
from .options import (
    DEFAULT_NAMESPACE,
    DEFAULT_STORE,
    AgentName,
    CheckedBy,
    GuardText,
    Json,
    Namespace,
    PayloadText,
    Store,
    duration,
    guarded,
    opened,
)
from .printing import moment, print_json, print_table, say

app = typer.Typer(
    help="Submit jobs at the times of a cron expression",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name")]


@app.command()
def add(
    name: Name,
    agent: AgentName,
    payload: PayloadText,
    cron: Annotated[str, typer.Option(help="A cron expression, e.g. '0 9 * * 1-5'; of six fields, seconds are first")],
    timezone: Annotated[str, typer.Option(help="The time zone, e.g. Europe/Berlin")] = "UTC",
    catch_up: Annotated[CatchUp, typer.Option(help="Which missed time to make up for")] = "latest",
    thread: Annotated[str | None, typer.Option(help="Run on this thread instead of new ones")] = None,
    on_busy: Annotated[OnBusy, typer.Option(help="If another job runs on --thread: see submit")] = "reject",
    priority: Annotated[Priority, typer.Option(help="Run before or after other jobs, at every agent")] = "normal",
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Fail a job that no worker starts within this long: seconds, or 90s, 5m, 12h"
        ),
    ] = None,
    deadline: Annotated[
        str | None, typer.Option(metavar="TIME", help="Fail a job that has not ended this long after it was submitted")
    ] = None,
    guard: GuardText = None,
    checked_by: CheckedBy = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Add a schedule, or replace the one with this name."""
    values = mapping(payload)
    with opened(store, namespace, checked_by) as coordinator:
        coordinator.schedule(
            name,
            agent,
            values,
            cron=cron,
            timezone=timezone,
            catch_up=catch_up,
            thread=thread,
            on_busy=on_busy,
            priority=priority,
            expires=None if expires is None else duration(expires, "--expires"),
            deadline=None if deadline is None else duration(deadline, "--deadline"),
            guard=Guard() if guard is None else guarded(guard),
        )
    print_json({"name": name}) if as_json else say(f"scheduled {name}")


@app.command("list")
def list_(store: Store = DEFAULT_STORE, namespace: Namespace = DEFAULT_NAMESPACE, as_json: Json = False) -> None:
    """List schedules: when they are due, and how their last run went."""
    with opened(store, namespace) as coordinator:
        found = coordinator.schedules()
    if as_json:
        print_json([each.as_dict() for each in found])
        return
    print_table(("NAME", "AGENT", "CRON", "TIMEZONE", "NEXT", "LAST", "JOB"), map(_row, found))


def _row(about: Schedule) -> tuple[str | None, ...]:
    if about.unreadable:
        return about.name, None, None, None, "unreadable", None, about.error
    zone = ZoneInfo(about.timezone)  # of its times too, so that they look like its cron expression
    due, last = (moment(each, zone) if each else None for each in (about.next_at, about.last_at))
    due = "paused" if about.paused else due
    return about.name, about.agent, about.cron, about.timezone, due, last, about.last_job or about.error


@app.command()
def pause(
    name: Name, store: Store = DEFAULT_STORE, namespace: Namespace = DEFAULT_NAMESPACE, as_json: Json = False
) -> None:
    """Let a schedule rest, until `schedule resume`."""
    with opened(store, namespace) as coordinator:
        coordinator.pause_schedule(name)
    print_json({"name": name, "paused": True}) if as_json else say(f"paused {name}")


@app.command()
def resume(
    name: Name, store: Store = DEFAULT_STORE, namespace: Namespace = DEFAULT_NAMESPACE, as_json: Json = False
) -> None:
    """Let a paused schedule go on. Times that passed meanwhile are not made up for."""
    with opened(store, namespace) as coordinator:
        coordinator.resume_schedule(name)
    print_json({"name": name, "paused": False}) if as_json else say(f"{name} goes on")


@app.command()
def run(
    name: Name,
    checked_by: CheckedBy = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Submit a schedule's job now, beside those of its times. Prints its id."""
    with opened(store, namespace, checked_by) as coordinator:
        job = coordinator.run_schedule(name)
    print_json({"id": job.id}) if as_json else say(job.id)


@app.command()
def remove(
    name: Name, store: Store = DEFAULT_STORE, namespace: Namespace = DEFAULT_NAMESPACE, as_json: Json = False
) -> None:
    """Remove a schedule. Jobs it submitted stay."""
    with opened(store, namespace) as coordinator:
        coordinator.unschedule(name)
    print_json({"name": name, "removed": True}) if as_json else say(f"removed {name}")
