"""Commands that delete old data: prune, delete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from batonpass.contracts.errors import BadSetup, NotFound
from batonpass.contracts.names import is_id

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, duration, opened
from .printing import print_json

ALL = 2**31  # the limit of a list that is to be complete


def prune(
    thread: Annotated[str | None, typer.Argument(metavar="THREAD", help="Only this thread (default: all)")] = None,
    keep_last: Annotated[int | None, typer.Option(help="Keep this many of each thread", min=0)] = None,
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
    with opened(store, namespace) as coordinator:
        if jobs:
            count = coordinator.prune_jobs(older_than=age or 0)
        else:
            if thread and not (coordinator.timeline(thread, limit=1) or coordinator.jobs(thread=thread, limit=1)):
                raise not_there(thread)
            count = coordinator.prune(thread, keep_last=keep_last, older_than=age, keep_named=not named)
    what = "job" if jobs else "checkpoint"
    print_json({f"{what}s": count}) if as_json else typer.echo(f"freed {count} {what}{'' if count == 1 else 's'}")


def delete(
    what: Annotated[str, typer.Argument(metavar="THREAD|JOB", help="A thread's name, or an ended job's id")],
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Delete a thread with its checkpoints and ended jobs, or an ended job with its own thread. Events stay."""
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
    print_json(about) if as_json else typer.echo(text)


def not_there(thread: str) -> NotFound:
    """The error for a thread that has nothing. To delete it again does no harm, but its name may be mistyped."""
    return NotFound(f"there is no thread {thread!r} here: `batonpass threads` lists the threads")
