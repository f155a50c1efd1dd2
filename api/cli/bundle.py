"""Commands about bundles: export, import."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from batonpass.contracts.job import JobState
from batonpass.coordinator.bundling import check

from .ending import tidy_at_sigterm
from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened
from .printing import print_json, print_progress, say


def export(
    what: Annotated[str, typer.Argument(metavar="JOB|THREAD", help="A job's id, or a thread's name")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The new file; an existing one is not overwritten")],
    plain: Annotated[bool, typer.Option("--plain", help="Don't encrypt it, though the store is encrypted")] = False,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Write a job's run to a file, to look at it and replay it elsewhere. The store is only read."""
    with opened(store, namespace) as coordinator, tidy_at_sigterm():
        info = coordinator.export_bundle(
            what, file, plain=plain, progress=print_progress if sys.stderr.isatty() else None
        )
    size = os.path.getsize(file)
    if as_json:
        print_json({**info.as_dict(), "file": str(file), "bytes": size})
        return
    coded = ", encrypted with the store's key" if info.encrypted else ""
    say(
        f"exported thread {info.thread} with {info.checkpoints} checkpoint(s) and {len(info.jobs)} job(s) to {file}: "
        f"{size:,} bytes{coded}"
    )
    for each in info.left_out:
        say(f"left out: {each}", err=True)


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `batonpass export` has written")],
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Add an exported run to a store. Nothing of it starts to run. After an interruption, run it again."""
    check(file)  # before a store is begun for it
    with opened(store, namespace, begins=True) as coordinator:
        info = coordinator.import_bundle(file, progress=print_progress if sys.stderr.isatty() else None)
        states = {job: coordinator.job(job).info() for job in info.jobs}
    if as_json:
        print_json(info.as_dict())
        return
    say(f"imported thread {info.thread} with {info.checkpoints} checkpoint(s)")
    for job, found in states.items():
        onward = {
            JobState.FAILED: f": `batonpass redrive {job}` continues it here",
            JobState.INPUT_REQUIRED: f": `batonpass answer {job}` continues it here",
        }
        state = f"{found.state} ({found.reason})" if found.reason else str(found.state)
        say(f"job {job} at {found.agent}: {state}{onward.get(found.state, '')}")
