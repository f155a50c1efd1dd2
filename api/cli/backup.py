"""The command that copies a store."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from batonpass.coordinator.backup import back_up
from batonpass.coordinator.urls import open_store

from .ending import tidy_at_sigterm
from .options import DEFAULT_STORE, Json, Store
from .printing import print_json, say, say_over


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The new file; an existing one is not overwritten")],
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Back up a SQLite store, with all its namespaces, to a new file. The store can be in use."""
    source = open_store(store)  # not opened: that would make a store where there is none
    with tidy_at_sigterm():
        back_up(source, file, _show if sys.stderr.isatty() else None)
    size = os.path.getsize(file)
    text = f"copied {source.url} to {file}: {size:,} bytes"
    print_json({"file": str(file), "bytes": size}) if as_json else say(text)


def _show(copied: int, size: int) -> None:
    say_over(f"{copied / 1e6:,.1f} of {size / 1e6:,.1f} MB", last=copied == size)
