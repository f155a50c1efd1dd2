"""Bundling: a job's run as a file, and back. In async code it runs in a thread, because of the file."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

from ..contracts.bundle import BundleInfo
from ..contracts.errors import BadSetup
from .bundles.file import BundleReader, BundleWriter
from .calls import drive, exporting, importing
from .store import Store

Progress = Callable[[int, int], None]
"""Told how many checkpoints are done, and how many there are."""
Path = str | os.PathLike[str]


def export_bundle(store: Store, what: str, path: Path, *, plain: bool, progress: Progress | None) -> BundleInfo:
    """Write a job or a thread to a new file, protected by the store's codec unless it is to be `plain`."""
    codec = None if plain else store.codec
    out = BundleWriter(_checked(path), codec)
    try:
        info = drive(store, exporting.export(what, out, progress or _nobody, decoded=store.codec is not None))
        out.close()
    except BaseException:
        out.abandon()
        raise
    return replace(info, encrypted=codec is not None and codec.encrypts)


def check(path: Path) -> None:
    """Refuse a file that is not complete and intact."""
    BundleReader(_checked(path), None).close()


def import_bundle(store: Store, path: Path, *, progress: Progress | None) -> BundleInfo:
    """Add what a file has to the store."""
    with closing(BundleReader(_checked(path), store.codec)) as bundle:
        return drive(store, importing.import_(bundle, store.codec, progress or _nobody))


def _checked(path: Path) -> str:
    given: Any = path  # users without a type checker give anything
    if not isinstance(given, str | os.PathLike):
        raise BadSetup(f"{path!r} is not the path of a file")
    return os.fspath(path)


def _nobody(done: int, total: int) -> None:
    """Tells nobody."""
