"""The worker command."""

from __future__ import annotations

import logging
import os
import sys
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import anyio
import typer
from pydantic_core import to_json

from batonpass.contracts.job import DEFAULT_LEASE
from batonpass.workers.process import find_app, serve

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store


def worker(
    app: Annotated[str, typer.Argument(metavar="MODULE:APP", help="Where the app is, e.g. desk:app")],
    agents: Annotated[str | None, typer.Option(help="Only these agents, with commas between (default: all)")] = None,
    concurrency: Annotated[int, typer.Option(help="How many jobs to run at once", min=1)] = 4,
    lease: Annotated[
        float, typer.Option(help="Seconds that a job stays this worker's without a heartbeat")
    ] = DEFAULT_LEASE,
    grace: Annotated[float, typer.Option(help="Seconds that a job may take to its next checkpoint on SIGTERM")] = 30.0,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Run agents until SIGTERM or Ctrl-C: jobs are given back at their next checkpoint then."""
    _log_lines(as_json)
    names = [name.strip() for name in agents.split(",") if name.strip()] if agents else None
    found = find_app(app)
    run = partial(
        serve, found, store, namespace=namespace, agents=names, concurrency=concurrency, lease=lease, grace=grace
    )
    # Frameworks may ask at the terminal: a worker has nobody there, and must not wait for it.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    anyio.run(run)


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return to_json(line).decode()


def _log_lines(as_json: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if as_json else logging.Formatter("%(asctime)s %(levelname)-7s %(message)s"))
    logger = logging.getLogger("batonpass")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
