"""Reads a log file line by line, however long it or its lines are, and whatever bytes it holds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import batonpass as bp

from .line import Line, parse

MAX_LINE = 65_536  # bytes of one line that are looked at; the rest of a longer one is skipped


def check_readable(path: Path) -> None:
    """Refuse what is no log to work on: `BadSetup`, in one line."""
    try:
        if path.is_dir():
            raise bp.BadSetup(f"{path} is a folder: give the log file itself")
        with path.open("rb") as file:
            while chunk := file.read(MAX_LINE):
                if chunk.strip():
                    return
    except OSError as error:
        raise bp.BadSetup(f"{path} can't be read: {error.strerror or error}") from None
    raise bp.BadSetup(f"{path} is empty: give a log with at least one line")


def read(path: Path) -> Iterator[Line]:
    """The file's lines, blank ones left out (but counted in `number`). Bytes that are no UTF-8 are replaced."""
    year = datetime.fromtimestamp(path.stat().st_mtime, UTC).year
    for number, raw in enumerate(_raw_lines(path), 1):
        if text := raw.decode("utf-8", "replace").strip():
            yield parse(text, number, year)


def _raw_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while raw := file.readline(MAX_LINE):
            yield raw
            while not raw.endswith(b"\n") and (raw := file.readline(MAX_LINE)):
                pass
