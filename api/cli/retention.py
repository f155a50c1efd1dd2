"""Commands that delete old data: prune, delete."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

import typer

from batonpass.contracts.errors import BadSetup, NotFound, Unpruned, WrongState
from batonpass.contracts.job import FailureReason
from batonpass.contracts.names import is_id

from .agents import tell_undeclared
from .dead import NARROWING, Agent, Reason, chosen_letters
from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Since, Store, Until, duration, opened
from .printing import print_json, say
from .several import done_to, tell

ALL = 2**31  # the limit of a list that is to be complete


def prune(
    thread: Annotated[str | None, typer.Argument(metavar="THREAD", help="Only this thread (default: all)")] = None,
    keep_last: Annotated[
        int | None, typer.Option(help="Keep this many of each thread, and each agent's newest", min=0)
    ] = None,
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Only older ones: seconds, or 90m, 12h, 30d, 8w")
    ] = None,
    named: Annotated[bool, typer.Option("--named", help="Also named checkpoints")] = False,
    jobs: Annotated[bool, typer.Option("--jobs", help="Delete ended jobs, each with its own thread, instead")] = False,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Delete old checkpoints, or with --jobs old jobs. What a job would resume from stays."""
    age = None if older_than is None else duration(older_than, "--older-than")
    if jobs and (age is None or keep_last is not None or thread is not None or named):
        raise BadSetup("prune --jobs takes only --older-than AGE")
    if age is None and keep_last is None:
        raise BadSetup("prune takes --keep-last N, --older-than AGE, or both")
    left: Unpruned | None = None
    with opened(store, namespace) as coordinator:
        if jobs:
            count = coordinator.prune_jobs(older_than=age or 0)
        else:
            if thread and not (coordinator.timeline(thread, limit=1) or coordinator.jobs(thread=thread, limit=1)):
                raise not_there(thread)
            try:
                count = coordinator.prune(thread, keep_last=keep_last, older_than=age, keep_named=not named)
            except Unpruned as error:
                count, left = error.freed, error
    what = "job" if jobs else "checkpoint"
    about: dict[str, Any] = {f"{what}s": count}
    if left is not None:
        about["failed"] = {name: str(error) for name, error in left.failed.items()}
    tell(about, [f"freed {count} {what}{'' if count == 1 else 's'}"], left, as_json=as_json)


def delete(
    what: Annotated[
        str | None, typer.Argument(metavar="THREAD|JOB", help="A thread's name, or an ended job's id")
    ] = None,
    letters: Annotated[bool, typer.Option("--dead-letters", help="Delete failed jobs with their own threads")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help=f"With --dead-letters: all of them, or those that match {NARROWING}")
    ] = False,
    agent: Agent = None,
    reason: Reason = None,
    since: Since = None,
    until: Until = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Delete a thread with its checkpoints and ended jobs, or an ended job with its own thread. Events stay."""
    narrowed = any((agent, reason, since, until))
    if letters != everything or letters == (what is not None) or (narrowed and not letters):
        raise BadSetup(f"delete takes a thread or a job, or --dead-letters --all, which {NARROWING} narrow down")
    if what is None:
        _drop(agent, reason, since, until, store, namespace, as_json=as_json)
        return
    about: Mapping[str, str | int]
    with opened(store, namespace) as coordinator:
        if is_id(what, "j"):
            coordinator.delete_job(what)
            text, about = f"deleted job {what}", {"job": what}
        else:
            jobs = len(coordinator.jobs(thread=what, limit=ALL))
            count = coordinator.delete(what)
            if not jobs and not count:
                raise not_there(what)
            text = f"deleted {count} checkpoint(s) and {jobs} job(s) of {what}"
            about = {"thread": what, "checkpoints": count, "jobs": jobs}
    print_json(about) if as_json else say(text)


def _drop(
    agent: str | None,
    reason: FailureReason | None,
    since: str | None,
    until: str | None,
    store: str,
    namespace: str | None,
    *,
    as_json: bool,
) -> None:
    """Delete dead letters. One that somebody redrives or deletes meanwhile is theirs."""
    gone: dict[str, bool] = {}

    def drop(job: str) -> None:
        with suppress(NotFound, WrongState):
            coordinator.delete_job(job)
            gone[job] = True

    with opened(store, namespace) as coordinator:
        found = chosen_letters(coordinator, agent, reason, since, until)
        mistyped = tell_undeclared(coordinator, agent, found)
        _, stopped = done_to([info.id for info in found], drop)
    lines = [f"deleted job {job}" for job in gone]
    tell({"deleted": list(gone)}, lines or ["there are no such dead letters"], stopped, as_json=as_json)
    if mistyped:
        raise typer.Exit(1)


def not_there(thread: str) -> NotFound:
    """The error for a thread that has nothing. To delete it again does no harm, but its name may be mistyped."""
    return NotFound(f"there is no thread {thread!r} here: `batonpass threads` lists the threads")
