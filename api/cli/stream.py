"""The command stream."""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer

from batonpass.contracts.part import Part

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened
from .printing import print_json


def stream(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's id")],
    after: Annotated[str, typer.Option(help="Continue after this cursor (--json shows it)")] = "",
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Print what a job's agents stream, until the job ends: text as it comes, other values as JSON, one per line (with
    --json all of it)."""
    with opened(store, namespace) as coordinator:
        found = coordinator.job(job)
        found.info()  # an unknown job is said at once
        in_line = False
        for part in found.parts(after=after):
            if as_json:
                print_json(vars(part), indent=None)
            else:
                in_line = _print(part, in_line)
        if in_line:
            typer.echo()
        found.result(timeout=0)  # a job that did not complete says why


# What a model says must not act on a terminal: control characters but tabs and new lines.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _print(part: Part, in_line: bool) -> bool:
    """Print a part. Returns whether what follows begins in the middle of a line."""
    if isinstance(part.data, str):
        typer.echo(_CONTROL.sub("", part.data) if sys.stdout.isatty() else part.data, nl=False, color=True)
        return not part.data.endswith("\n") if part.data else in_line
    if in_line:
        typer.echo()
    print_json(part.data, indent=None)
    return False
