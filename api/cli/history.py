"""Commands about what happened: timeline, events."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Annotated, Any

import typer

from batonpass.contracts.checkpoint import CheckpointSummary
from batonpass.contracts.errors import NotFound
from batonpass.contracts.job import JobInfo
from batonpass.contracts.names import is_id
from batonpass.coordinator.sync_client import SyncCoordinator

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, Types, assignment, listed, opened
from .printing import cell, print_json, print_table, say, tell_more, tell_unreadable

_HEADINGS = ("#", "CHECKPOINT", "NAME", "AGENT", "HOP", "FRAMEWORK", "STEP", "SAVED", "CONTEXT", "FRAMEWORK'S ID")


def threads(
    limit: Annotated[int, typer.Option(help="At most this many", min=1)] = 50,
    after: Annotated[str, typer.Option(metavar="THREAD", help="Only threads behind this one")] = "",
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """List the names of all threads that have checkpoints or jobs."""
    with opened(store, namespace) as coordinator:
        found = coordinator.threads(limit=limit if as_json else limit + 1, after=after)
    if as_json:
        print_json(found)
        return
    print_table(("THREAD",), [(name,) for name in found[:limit]])
    if len(found) > limit:
        say(f"more: --after {shlex.quote(found[limit - 1])}", err=True)


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
    wanted = limit if as_json else limit + 1
    newest: JobInfo | None = None
    with opened(store, namespace) as coordinator:
        of_job = is_id(thread, "j")
        name = coordinator.job(thread).info().thread if of_job else thread
        if branches:
            found = coordinator.branches(name)[:wanted]
        else:
            found = coordinator.timeline(
                name,
                limit=wanted,
                before=before,
                agent=agent,
                step=step,
                framework=framework,
                context=dict(map(assignment, context or ())),
                named=named,
            )
        if not found and not of_job:
            newest = _only_job(coordinator, name)
    if as_json:
        print_json([asdict(checkpoint) for checkpoint in found])
        return
    if not found:
        narrowed = before or agent or step or framework or context or named
        which = "such checkpoints" if narrowed and newest is None else "checkpoints yet"
        rest = f", but jobs: see `batonpass show {newest.id}`, the newest" if newest is not None else ""
        say(f"batonpass: {thread!r} has no {which}{rest}", err=True)
    columns = len(_HEADINGS) - (not any(each.framework_id for each in found))
    print_table(_HEADINGS[:columns], (_row(each)[:columns] for each in found[:limit]))
    tell_unreadable("checkpoint", [each.id for each in found[:limit] if each.unreadable])
    if branches and len(found) > limit:  # they are not paged
        say(f"more: --limit {limit * 2}", err=True)
    elif not branches:
        tell_more(found, limit, "--before")


def _only_job(coordinator: SyncCoordinator, thread: str) -> JobInfo | None:
    """The newest job of a thread that has no checkpoint at all. `NotFound` if there is nothing of this name."""
    if coordinator.timeline(thread, limit=1):
        return None
    for newest in coordinator.jobs(thread=thread, limit=1):
        return newest
    raise NotFound(f"there is no thread {thread!r} with checkpoints: `batonpass threads` lists the threads")


def _row(c: CheckpointSummary) -> tuple[Any, ...]:
    number = "damaged" if c.damaged else c.step_index
    context = dict(c.context) or None
    return number, c.id, c.name, c.agent, c.hop, c.framework, c.step, c.created_at, context, c.framework_id


def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more, also after the end of --job")] = False,
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
            say(f"{cell(event.time)}  {event.type.removeprefix('batonpass.'):<17} {event.subject}  {details}")


def _check_known(coordinator: SyncCoordinator, job: str) -> None:
    """`NotFound` if there is no such job, and never was. (The events of a deleted job stay.)"""
    try:
        coordinator.job(job).info()
    except NotFound:
        if next(iter(coordinator.events(job=job)), None) is None:
            raise
