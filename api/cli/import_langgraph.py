"""The command that moves a LangGraph program in: import-langgraph."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from batonpass.contracts.errors import BadSetup, MissingExtra

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened
from .printing import print_json, print_progress, say

if TYPE_CHECKING:
    from batonpass.adapters.langgraph.importing.importer import Done

# How many problems to print one by one, and checkpoints between two lines of progress.
_SHOWN, _PACE = 20, 20


@dataclass(slots=True)
class _Count:
    """What an import did so far."""

    of: int
    imported: int = 0
    were_there: int = 0
    problems: list[Done] = field(default_factory=list["Done"])

    def add(self, done: Done) -> None:
        if done.problem:
            self.problems.append(done)
        elif done.was_there:
            self.were_there += 1
        else:
            self.imported += 1

    @property
    def seen(self) -> int:
        return self.imported + self.were_there + len(self.problems)


def import_langgraph(
    source: Annotated[
        str, typer.Argument(metavar="FILE|URL", help="A SqliteSaver's file, or a PostgresSaver's postgresql:// URL")
    ],
    threads: Annotated[
        list[str] | None, typer.Option("--thread", metavar="ID", help="Only this thread; repeatable")
    ] = None,
    verify: Annotated[bool, typer.Option(help="Read every checkpoint back and compare it with the source's")] = True,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="MODULE:CLASS", help="Also restore this type of yours; repeatable"),
    ] = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Import LangGraph's checkpoints, with their history and pending writes. The source is only read.

    Run it again to continue where it stopped, or to bring what is new. Exit code 1: some could not be imported.
    """
    try:
        importing = import_module("batonpass.adapters.langgraph.importing.importer")
        sources = import_module("batonpass.adapters.langgraph.importing.sources")
    except ModuleNotFoundError as error:
        raise MissingExtra(f"importing needs LangGraph ({error}): pip install 'batonpass[langgraph]'") from error
    allowed = _allowed(allow or [])
    with sources.open_source(source, allowed) as found:
        counts: dict[str, int] = found.threads()
        chosen = _chosen(counts, threads)
        count = _Count(sum(counts[thread] for thread in chosen))
        with opened(store, namespace, begins=True) as coordinator:
            made = importing.Importer(found, coordinator.store, allowed, verify=verify)
            for thread in chosen:
                for done in made.thread(thread):
                    count.add(done)
                    if sys.stderr.isatty() and (count.seen % _PACE == 0 or count.seen == count.of):
                        print_progress(count.seen, count.of)
    _report(count, len(chosen), verify, as_json)


def _allowed(names: list[str]) -> list[tuple[str, ...]]:
    if not names:
        return []
    from batonpass.adapters.langgraph.serde.allowlist import types_of

    return sorted(types_of([_type(name) for name in names]))


def _type(name: str) -> Any:
    """What `MODULE:CLASS` names, from the working directory or the installed packages."""
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return getattr(import_module(module), attribute)
    except Exception as error:  # the user's module may raise anything
        raise BadSetup(f"--allow {name}: write MODULE:CLASS; {type(error).__name__}: {error}") from error


def _chosen(counts: dict[str, int], threads: list[str] | None) -> list[str]:
    for thread in threads or ():
        if thread not in counts:
            raise BadSetup(f"the source has no thread {thread!r}; it has {len(counts)}")
    return list(dict.fromkeys(threads)) if threads else list(counts)


def _report(count: _Count, threads: int, verify: bool, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "threads": threads,
                "imported": count.imported,
                "already_there": count.were_there,
                "verified": count.imported + count.were_there if verify else 0,
                "problems": [each._asdict() for each in count.problems],
            }
        )
    else:
        for each in count.problems[:_SHOWN]:
            where = f"thread {each.thread!r}, checkpoint {each.key}" + (f" of {each.scope!r}" if each.scope else "")
            say(f"batonpass: {where}: {each.problem}", err=True)
        if len(count.problems) > _SHOWN:
            say(f"batonpass: and {len(count.problems) - _SHOWN:,} more, which --json lists", err=True)
        compared = ", all compared with the source" if verify and not count.problems else ""
        say(
            f"{threads:,} thread(s): {count.imported:,} checkpoint(s) imported, {count.were_there:,} were there"
            f"{f', {len(count.problems):,} are not here or differ' if count.problems else compared}"
        )
    if count.problems:
        raise typer.Exit(1)
