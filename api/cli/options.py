"""The options that commands share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from math import inf, isfinite
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer

from batonpass.contracts.app import App
from batonpass.contracts.errors import BadSetup, NotFound
from batonpass.contracts.guard import Guard
from batonpass.coordinator.book import Book
from batonpass.coordinator.coded.environment import store_at
from batonpass.coordinator.connection import Connection
from batonpass.coordinator.urls import DEFAULT_URL, VARIABLE, file_of, open_store

from .printing import AS_JSON

DEFAULT_STORE = DEFAULT_URL
DEFAULT_NAMESPACE: str | None = None
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def _named(context: typer.Context, url: str) -> str:
    """The store's URL. If it is bad and from the environment, the error names the variable, which the command does not
    show."""
    source = context.get_parameter_source("store")
    if source is not None and source.name == "ENVIRONMENT":
        try:
            open_store(url)
        except BadSetup as error:
            raise BadSetup(f"{VARIABLE}: {error}") from None
    return url


def url_from(given: str) -> str:
    """A URL, or what is in the file that @FILE names: others on the machine see the arguments of a process."""
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetup(f"the URL can't be read: {error}") from None


Store = Annotated[
    str,
    typer.Option(
        "--store",
        envvar=VARIABLE,
        callback=_named,
        help="The store's URL: sqlite:///file.db, redis://host:6379",
    ),
]
Namespace = Annotated[str | None, typer.Option(help="The namespace in the store (default: the URL's, or 'default')")]
GuardText = Annotated[
    str | None, typer.Option("--guard", metavar="JSON", help="The job's limits: hops, repeats, tokens, cost")
]
AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's name")]
PayloadText = Annotated[
    str, typer.Argument(metavar="JSON", help="The payload as JSON, @FILE to read it from a file, - for standard input")
]
CheckedBy = Annotated[
    str | None,
    typer.Option("--app", metavar="MODULE:APP", help="Check against this app instead of the store's record"),
]
Types = Annotated[
    list[str] | None,
    typer.Option(help="Only these types, e.g. job.failed,job.retrying or job.*; separated by commas; repeatable"),
]


def _noted(context: typer.Context, as_json: bool) -> bool:
    """Whether a command prints JSON, kept for errors: `Commands` tells these as JSON, too."""
    context.meta[AS_JSON] = as_json
    return as_json


Json = Annotated[bool, typer.Option("--json", callback=_noted, help="Print JSON")]


def listed(texts: Sequence[str] | None) -> list[str]:
    """What was given in one option or several, separated by commas."""
    return [each.strip() for each in ",".join(texts or ()).split(",") if each.strip()]


def read_json(text: str) -> Any:
    """JSON as given on the command line. `ValueError` also for a number that would be infinite, and for what is nested
    too deep."""
    try:
        return json.loads(text, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"the number {digits} is too large: one beyond 1.8e308 would be infinite")
    return number


Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PLACE=JSON", help="Change a value in the state, e.g. messages[3].text='\"hi\"'"),
]
Since = Annotated[
    str | None,
    typer.Option(metavar="AGE|TIME", help="Only from this time on: so long ago (90m, 2h, 30d), or a time like --at"),
]
Until = Annotated[str | None, typer.Option(metavar="AGE|TIME", help="Only before this time, given like --since")]
Additions = Annotated[
    list[str] | None, typer.Option("--add", metavar="PLACE=JSON", help="Add a value under a new name to the state")
]


def assignments(given: list[str] | None) -> list[tuple[str, Any]]:
    """Repeated options NAME=JSON."""
    return [assignment(text) for text in given or ()]


def assignment(text: str, quoted: str = "'\"hi\"'") -> tuple[str, Any]:
    """NAME=JSON as a name and a value. `quoted` shows how to write a text: a shell takes a pair of quotes away."""
    name, mark, value = text.partition("=")
    if not mark or not name:
        raise BadSetup(f"{text!r}: write a name, = and JSON, e.g. round=3")
    try:
        return name, read_json(value)
    except ValueError as error:
        if (keyed := _keyed(text, name)) is not None:
            return keyed
        known = text.rpartition("=")[0] if ":" in name else name
        why = f"is not JSON ({error}); a text needs quotes, e.g. {known}={quoted}"
        raise BadSetup(f"{text!r}: the part after = {why}") from None


def _keyed(text: str, name: str) -> tuple[str, Any] | None:
    """The same if the name is a step's or an effect's with its own key, as `effect:a=b`, which may have any signs. Not
    of other names: `url=http://x?y=1`, whose quotes are missing, would be a value under a new name."""
    if ":" not in name:
        return None
    at = len(name)
    while (at := text.find("=", at + 1)) != -1:
        with suppress(ValueError):
            return text[:at], read_json(text[at + 1 :])
    return None


def header(text: str) -> tuple[str, str]:
    """NAME=VALUE of a trace context as a header's name and value."""
    name, mark, value = text.partition("=")
    if not mark or not name:
        raise BadSetup(f"--trace {text!r}: write HEADER=VALUE, e.g. traceparent=00-...")
    return name, value


def seconds(text: str) -> float | None:
    """A duration as given on the command line, in seconds: a number, or one with a unit. None for anything else."""
    number, unit = (text[:-1], _UNITS[text[-1]]) if text[-1:] in _UNITS else (text, 1)
    try:
        return float(number) * unit
    except ValueError:
        return None


def duration(text: str, option: str) -> float:
    """An option's value that is a duration."""
    found = seconds(text)
    if found is None or not 0 <= found < inf:
        raise BadSetup(f"{option} {text!r}: write seconds, or a number with s, m, h, d or w, e.g. 90s, 12h or 30d")
    return found


def moment(text: str, option: str, *, also: str = "") -> datetime:
    """A time as given on the command line. Without a time zone, it is in this machine's."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise BadSetup(f"{option} {text!r} is not a time: write {also}e.g. 2031-05-01T09:00+02:00") from None


def past(text: str | None, option: str) -> datetime | None:
    """A time as given on the command line, or for how long it has been over."""
    ago = None if text is None else seconds(text)
    if text is None or ago is None:
        return None if text is None else moment(text, option, also="how long ago, such as 2h, or ")
    return datetime.now(UTC) - timedelta(seconds=duration(text, option))


def guarded(text: str) -> Guard:
    """A guard as given on the command line: a JSON object of some of its fields."""
    try:
        return Guard(**read_json(text))
    except (ValueError, TypeError):
        names = ", ".join(field.name for field in fields(Guard))
        raise BadSetup(f"--guard {text!r}: write a JSON object with some of {names}, e.g. '{{\"hops\": 80}}'") from None


def opened(store: str, namespace: str | None, app: str | None = None, *, begins: bool = False) -> Connection:
    """The connection for a command. It only knows the agents that the store has recorded, because what else this
    process has imported (the demo, for example) is not the user's.

    Unless the command `begins` a store, there must be one: a new, empty file in the wrong folder, or a new namespace
    with a mistyped name, would only hide the mistake. Commands that run until they are stopped begin one, as a worker
    does, because a service manager starts them in any order.
    """
    if store.startswith("memory:"):
        raise BadSetup("memory:// exists only in its own process, so a command's work would be lost")
    known = App("command line")
    if app is not None:
        from batonpass.workers.finding import find_app

        known, begins = find_app(app), True
    connection = Connection(store_at(store, namespace, None, begins=begins), Book(known))
    file = missing_file(store)
    if file is not None and not begins and file.parent.is_dir():
        name = "name one with --store or BATONPASS_URL"
        if why := _unwritable(file.parent):
            raise NotFound(f"there is no store {file}, and none can be made there ({why}): {name}")
        raise NotFound(
            f"there is no store {file}: {name}. A worker, `batonpass serve` or a submit with --app creates one"
        )
    return connection


def _unwritable(folder: Path) -> str:
    """Why no file can be made in a folder, "" if one can. This tries to make one, because root may do everything, and
    yet not everything is possible."""
    try:
        with TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def missing_file(store: str) -> Path | None:
    """The file that a store would be kept in, if it is not there yet."""
    file = file_of(store)
    if file is None:
        return None
    try:
        file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return file.absolute()
    except OSError:
        pass  # opening it says what is wrong
    return None
