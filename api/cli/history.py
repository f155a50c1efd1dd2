"""Commands about what happened: timeline, events."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from batonpass.contracts.checkpoint import CheckpointSummary
from batonpass.contracts.errors import NotFound
from batonpass.contracts.names import is_id
from batonpass.coordinator.sync_client import SyncCoordinator

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, Types, assignment, listed, opened
from .printing import cell, print_json, print_table, tell_unreadable


def timeline(
    thread: Annotated[str, typer.Argument(metavar="JOB|THREAD", help="A job's id, or a thread's name")],
    limit: Annotated[int, typer.Option(help="At most this many", min=1)] = 50,
    before: Annotated[str | None, typer.Option(help="Only checkpoints older than this one")] = None,
    agent: Annotated[str | None, typer.Option(help="Only checkpoints of this agent")] = None,
    step: Annotated[str | None, typer.Option(help="Only checkpoints of this step")] = None,
    framework: Annotated[
        str | None, typer.Option(help="Only checkpoints of this framework; python: of plain functions")
    ] = None,
    context: Annotated[
        list[str] | None, typer.Option(metavar="NAME=JSON", help="Only checkpoints whose context has this value")
    ] = None,
    named: Annotated[bool, typer.Option("--named", help="Only checkpoints with a name")] = False,
    branches: Annotated[bool, typer.Option("--branches", help="Only tips: checkpoints without a successor")] = False,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """List a job's or thread's checkpoints, newest first."""
    with opened(store, namespace) as coordinator:
        of_job = is_id(thread, "j")
        name = coordinator.job(thread).info().thread if of_job else thread
        if branches:
            found = coordinator.branches(name)[:limit]
        else:
            found = coordinator.timeline(
                name,
                limit=limit,
                before=before,
                agent=agent,
                step=step,
                framework=framework,
                context=dict(map(assignment, context or ())),
                named=named,
            )
        newest = None
        if not found and not of_job and not coordinator.timeline(name, limit=1):
            newest = next(iter(coordinator.jobs(thread=name, limit=1)), None)
            if newest is None:
                raise NotFound(f"there is no thread {name!r} with checkpoints: `batonpass jobs` lists the jobs")
    if as_json:
        print_json([asdict(checkpoint) for checkpoint in found])
        return
    if newest is not None:
        told = f"{thread!r} has no checkpoints yet, but jobs: see `batonpass show {newest.id}`, the newest"
        typer.echo(f"batonpass: {told}", err=True)
    elif not found:
        which = "such checkpoints" if before or agent or step or framework or context or named else "checkpoints yet"
        typer.echo(f"batonpass: {thread!r} has no {which}", err=True)
    headings = ("#", "CHECKPOINT", "NAME", "AGENT", "HOP", "FRAMEWORK", "STEP", "SAVED", "CONTEXT")
    print_table(headings, map(_row, found))
    tell_unreadable("checkpoint", [each.id for each in found if each.unreadable])


def _row(c: CheckpointSummary) -> tuple[Any, ...]:
    number = "damaged" if c.damaged else c.step_index
    context = dict(c.context) or None
    return number, c.id, c.name, c.agent, c.hop, c.framework, c.step, c.created_at, context


def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more")] = False,
    job: Annotated[str | None, typer.Option(help="Only events of this job")] = None,
    thread: Annotated[str | None, typer.Option(help="Only events of this thread and the jobs on it")] = None,
    agent: Annotated[str | None, typer.Option(help="Only events of this agent")] = None,
    types: Types = None,
    after: Annotated[str, typer.Option(help="Continue after this event cursor (--json shows it), or after now")] = "",
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Print events, oldest first, one per line (with --json as JSON objects)."""
    with opened(store, namespace) as coordinator:
        if job is not None:
            _check_known(coordinator, job)
        wanted = {"job": job, "thread": thread, "agent": agent}
        for event in coordinator.events(after=after, types=listed(types), follow=follow, **wanted):
            if as_json:
                print_json(asdict(event), indent=None)
                continue
            details = " ".join(f"{name}={cell(value)}" for name, value in event.data.items())
            typer.echo(f"{cell(event.time)}  {event.type.removeprefix('batonpass.'):<17} {event.subject}  {details}")


def _check_known(coordinator: SyncCoordinator, job: str) -> None:
    """`NotFound` if there is no such job, and never was. (The events of a deleted job stay.)"""
    try:
        coordinator.job(job).info()
    except NotFound:
        if next(iter(coordinator.events(job=job)), None) is None:
            raise
