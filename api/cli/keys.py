"""The keys command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from batonpass.contracts.errors import NotFound
from batonpass.contracts.key_use import KeyUse

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened
from .printing import print_json, print_table, say, say_over

_HEADINGS = ("KEY", "PROTECTION", "HERE", "JOBS", "THREADS", "ITEMS", "SCHEDULES", "WEBHOOKS", "EVENTS")


def keys(
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="List what needs this key; - for what is plain")
    ] = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """List encryption and signing keys, and how much of what is stored needs each. Reads everything.

    Exit code 1: something needs another key than the one that is here by its name.
    """
    with opened(store, namespace) as coordinator:
        found = coordinator.key_uses(progress=_progress if sys.stderr.isatty() else None)
    if sys.stderr.isatty():
        say("", err=True)
    if key is not None:
        wanted = "" if key == "-" else key
        found = [each for each in found if each.key == wanted]
        if not found and wanted:  # a slip of the pen must not look like a key that may go
            raise NotFound(f"there is no key {key!r}: this process does not have it, and nothing was stored with it")
    if as_json:
        print_json([each.as_dict() for each in found])
    elif key is None:
        print_table(_HEADINGS, map(_row, found))
    else:
        _print_needed(found)
    if others := [use.key for use in found if use.other]:
        say(f"the key {others[0]!r} is another key here than the one that wrote: nothing opens with it", err=True)
        raise typer.Exit(1)


def _print_needed(uses: Sequence[KeyUse]) -> None:
    """What needs one key."""
    rows = [row for use in uses for row in _named(use)]
    if rows:
        print_table(("WHAT", "NAME"), rows)
    events = sum(use.events for use in uses)
    if events or not rows:
        say(f"the errors of {events} events need it" if events else "nothing needs it", err=True)


def _row(use: KeyUse) -> tuple[object, ...]:
    here = "writes" if use.writes else "reads" if use.known else "another key" if use.other else "missing"
    lists = (use.jobs, use.threads, use.items, use.schedules, use.webhooks)
    return (use.key or "-", use.protection, here, *map(len, lists), use.events)


def _named(use: KeyUse) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for kind in ("jobs", "threads", "schedules", "webhooks"):
        found += [(kind.removesuffix("s"), name) for name in getattr(use, kind)]
    return found + [("item", " / ".join(path)) for path in use.items]


def _progress(looked: int) -> None:
    if looked % 100 == 0:
        say_over(f"{looked:,} jobs, threads, items and webhooks read")
