"""Printing: tables for people, JSON for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Any, Protocol

import typer

from batonpass.contracts.jsonable import as_json
from batonpass.contracts.visible import visible, visible_json, without_controls

AS_JSON = "batonpass.as_json"  # what a command's context has if the command prints JSON
_LONGEST = 200  # characters of a text in a table
_LONGEST_LINE = 1000  # characters: an error may quote a whole document, which an agent raised or a caller sent


def say(text: str, *, err: bool = False, bold: bool = False, fg: str | None = None) -> None:
    """Print a line for people. Whatever it quotes, it stays one line, and does nothing else to a terminal."""
    shown = visible(text)
    typer.echo(typer.style(shown, bold=bold or None, fg=fg) if bold or fg else shown, err=err)


def say_over(text: str, *, last: bool = False) -> None:
    """Say how far something is in a line of the terminal, which the next call replaces."""
    typer.echo(f"\r{visible(text)}", err=True, nl=last)


def pass_on(text: str) -> None:
    """Print a text as it comes. Only a terminal, on which it may act, does not get its control characters."""
    typer.echo(without_controls(text) if sys.stdout.isatty() else text, nl=False, color=True)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print plain values as JSON that everybody reads: the same as over HTTP, but that a terminal shows all of it."""
    text = as_json(value, indent=indent, no_number="strings").decode()
    typer.echo(visible_json(text).encode())


def print_table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print columns under headings, as wide as they need, so that ids can be copied. Only long texts (errors) are
    cut."""
    from rich.cells import cell_len  # rich's tables take as long to import as everything else that a list needs

    lines = [[shortened(cell(value), _LONGEST) for value in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(headings, *lines, strict=True)]
    for number, line in enumerate((headings, *lines)):
        text = "  ".join(f"{each}{' ' * (width - cell_len(each))}" for each, width in zip(line, widths, strict=True))
        say(text.rstrip(), bold=not number and "NO_COLOR" not in os.environ)


class Listed(Protocol):
    """What lists are of: the next page begins after an id."""

    @property
    def id(self) -> str: ...


def tell_more(found: Sequence[Listed], limit: int, option: str) -> None:
    """Say how to see the rest of a list, if one more than its limit was found."""
    if len(found) > limit:
        say(f"more: {option} {found[limit - 1].id}", err=True)


def tell_unreadable(kind: str, ids: Sequence[str]) -> None:
    """Say which jobs or checkpoints could not be read completely."""
    if ids:
        more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
        why = "it is damaged, or needs the keys (BATONPASS_ENCRYPT_KEYS, BATONPASS_SIGN_KEYS)"
        say(f"batonpass: not all of {kind} {ids[0]}{more} can be read: {why}", err=True)


def print_progress(done: int, total: int) -> None:
    """Say how many checkpoints are done."""
    say_over(f"{done:,} of {total:,} checkpoints", last=done == total)


def drop_output() -> None:
    """Print nowhere from here on: at its end Python would try again to write what it holds, and exit with its own
    code."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def moment(value: datetime, zone: tzinfo | None = None) -> str:
    """A time to read: in a zone that is shown beside it, or in the terminal's, with that, as --at takes it."""
    if zone is not None:
        return value.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
    return value.astimezone().isoformat(" ", "seconds")


def cell(value: Any) -> str:
    """One value in one line, as wide as it looks."""
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return moment(value)
    return visible(" ".join(str(value).split()))


def line(text: str) -> str:
    """A text in one line, without its end if it is long."""
    return shortened(" ".join(text.split()), _LONGEST_LINE)


def shortened(text: str, longest: int) -> str:
    """The text, without its end if it is longer."""
    return text if len(text) <= longest else f"{text[: longest - 2]} …"
