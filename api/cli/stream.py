"""The command stream."""

from __future__ import annotations

from typing import Annotated

import typer

from batonpass.contracts.part import Part

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened
from .printing import pass_on, print_json, say


def stream(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's id")],
    after: Annotated[str, typer.Option(help="Continue after this cursor (--json shows it)")] = "",
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Print what a job's agents stream, until the job ends. Text is printed as it comes, other values as JSON, one per
    line (with --json all of it). A terminal does not get the text's control characters; a file or another program
    does."""
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
            say("")
        found.result(timeout=0)  # a job that did not complete says why


def _print(part: Part, in_line: bool) -> bool:
    """Print a part. Returns whether what follows begins in the middle of a line."""
    if isinstance(part.data, str):
        pass_on(part.data)
        return not part.data.endswith("\n") if part.data else in_line
    if in_line:
        say("")
    print_json(part.data, indent=None)
    return False
