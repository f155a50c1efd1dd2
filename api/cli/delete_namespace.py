"""The command that deletes a whole namespace."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from batonpass.contracts.errors import BadSetup
from batonpass.coordinator.dropping import drop_namespace
from batonpass.coordinator.urls import namespace_said

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store
from .printing import print_json, say
from .repartition import Progress


def delete_namespace(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The namespace, e.g. default")],
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask")] = False,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Delete everything in a namespace: jobs, threads, events, schedules, webhooks, memory items.

    Stop its workers first, and the programs that submit to it. If this is interrupted, run it again.
    """
    named = namespace_said(store, namespace)
    if named not in (None, name):
        raise BadSetup(f"NAME is {name!r}, but the store's URL or --namespace says {named!r}: name the same one twice")
    if not yes:
        _ask(name)
    progress = Progress(shown=sys.stderr.isatty())
    count = drop_namespace(store, name, progress)
    progress.end()
    print_json({"namespace": name, "deleted": count}) if as_json else say(f"deleted namespace {name}")


def _ask(name: str) -> None:
    """Let a person type the name once more."""
    if not sys.stdin.isatty():
        raise BadSetup(f"this would delete everything in namespace {name!r} for ever: repeat it with --yes")
    if typer.prompt(f"Everything in namespace {name!r} is deleted for ever. Type its name", err=True) != name:
        raise BadSetup("that is another name: nothing was deleted")
