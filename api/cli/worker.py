"""The worker command."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from batonpass.contracts.errors import BadSetup
from batonpass.contracts.job import DEFAULT_LEASE
from batonpass.coordinator.urls import namespace_of
from batonpass.workers.children.pool import Wear
from batonpass.workers.children.settings import ChildSettings
from batonpass.workers.children.steady_loop import STEADY
from batonpass.workers.finding import find_app
from batonpass.workers.logs import log_lines
from batonpass.workers.process import at_last, ending_at_once, serve
from batonpass.workers.sources import Sources, begin_anew, keep_reloading

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, duration, listed

# The shortest lease. A worker renews it four times: what holds up a whole process for a moment, such as an import, must
# not cost it its jobs. A busy machine keeps one of a second.
_SHORTEST = 0.5


def worker(
    app: Annotated[str, typer.Argument(metavar="MODULE:APP", help="Where the app is, e.g. desk:app")],
    agents: Annotated[
        list[str] | None, typer.Option(help="Only these agents, separated by commas; repeatable (default: all)")
    ] = None,
    concurrency: Annotated[int, typer.Option(help="How many jobs to run at once", min=1)] = 4,
    lease: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="How long a job is left to a worker without a heartbeat: seconds (0.5 or more), or 1m"
        ),
    ] = f"{DEFAULT_LEASE:g}",
    grace: Annotated[
        str,
        typer.Option(metavar="TIME", help="How long a job has to reach its next checkpoint on SIGTERM: seconds, or 2m"),
    ] = "30",
    child_jobs: Annotated[int, typer.Option(help="Replace a child process after this many jobs (0: never)", min=0)] = 0,
    child_memory: Annotated[
        int, typer.Option(help="Replace a child process that holds more MB than this after a job (0: never)", min=0)
    ] = 0,
    threads_left: Annotated[
        int, typer.Option(help="Restart when this many threads of ended jobs are still running (0: never)", min=0)
    ] = 8,
    reload: Annotated[bool, typer.Option("--reload", help="Restart when a .py file below this folder changes")] = (
        False
    ),
    alive_file: Annotated[
        Path | None,
        typer.Option(help="Touch this file every 5 s while the worker serves, for a probe", dir_okay=False),
    ] = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Run agents until SIGTERM, Ctrl-C or the terminal closes. Jobs are then given back at their next checkpoint."""
    log_lines(as_json, namespace_of(store, namespace))
    names = None if agents is None else listed(agents)
    times = {"lease": _lease(lease), "grace": duration(grace, "--grace")}
    # A child would not share a store in memory, and Windows can't pass sockets to one.
    children = None
    if os.name == "posix" and not store.startswith("memory:"):
        children = ChildSettings(app, store, namespace, as_json, Wear(child_jobs, child_memory))

    def run(sources: Sources | None = None) -> bool:
        found = find_app(app)
        with at_last(), ending_at_once():
            serving = partial(serve, found, store, namespace=namespace, agents=names, concurrency=concurrency)
            more = {"sources": sources, "most_left": threads_left, "alive_file": alive_file}
            # Before there is a loop, which may have threads.
            with children.planted(found, names) if children else nullcontext() as made:
                return anyio.run(partial(serving, **times, **more, children=made), backend_options=STEADY)

    # Frameworks may ask at the terminal, where nobody answers a worker.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if reload:
        keep_reloading(run)
    elif run():
        begin_anew()


def _lease(text: str) -> float:
    lease = duration(text, "--lease")
    if lease < _SHORTEST:
        raise BadSetup(
            f"--lease {text!r} is too short for heartbeats, and workers would take over each other's running jobs: give"
            f" {_SHORTEST:g} (seconds) or more, and 1 or more on a busy machine"
        )
    return lease
