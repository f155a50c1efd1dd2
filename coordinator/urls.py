"""Store URLs: what `connect`, `--store` and BATONPASS_URL take."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from os import PathLike, fsdecode
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from ..contracts.errors import BadSetup
from .calls.inputs import text
from .store import KEPT_EVENTS, Store

FORMS = (
    "sqlite:///file.db, redis://host:6379, rediss://host:6379, redis+sentinel://host:26379/service, "
    "redis+cluster://host:6379,host2:6379 or memory://"
)
DEFAULT_URL = "sqlite:///batonpass.db"
VARIABLE = "BATONPASS_URL"
R = TypeVar("R")
_PASSWORD = re.compile(r"(password=)[^&]*")


def with_default_url(use: Callable[[str], R]) -> R:
    """Use the URL in the environment, or else the default one. If it can't be used, the error names the variable, which
    the code does not show."""
    given = os.environ.get(VARIABLE)
    if given is None:
        return use(DEFAULT_URL)
    try:
        return use(given)
    except BadSetup as error:
        raise BadSetup(f"{VARIABLE}: {error}") from None


def open_store(url: str, namespace: str | None = None, *, begins: bool = True) -> Store:
    """The store that a URL names, not opened yet. A namespace in the call has precedence over one in the URL.

    Opening it makes a namespace on a server if it is not there, or, unless this `begins` one, raises `NotFound`.
    """
    _check_url(url)
    if "#" in url:  # what follows would be ignored; and the URL may hold a password, so the error does not show it
        raise BadSetup("a store URL can't contain #: in a name or a password, write %23")
    query = dict(parse_qsl(_split(url).query, keep_blank_values=True))
    in_url = query.pop("namespace", "default")
    events = query.pop("events", str(KEPT_EVENTS))
    namespace = in_url if namespace is None else namespace
    if not text(namespace, "namespace"):
        raise BadSetup("the namespace is empty: give it a name, or leave it out for 'default'")
    if not (events.isascii() and events.isdecimal() and int(events)):
        raise BadSetup(f"?events={events}, but it must be a number, 1 or more: how many events to keep")
    store = _store(url, query, namespace, begins=begins)
    store.kept_events = int(events)
    return store


def without_secrets(url: str) -> str:
    """A URL without its passwords, to be shown. A malformed URL may have a / or ? in its password and so seem to have
    other parts than it has, so everything before the last @ counts as the login."""
    scheme, mark, rest = _PASSWORD.sub(r"\1***", url).partition("://")
    login, at, place = rest.rpartition("@")
    user, colon, _ = login.partition(":")
    return f"{scheme}{mark}{user}{colon}{'***' if colon else ''}{at}{place}"


def namespace_of(url: str, namespace: str | None = None) -> str:
    """The namespace that a URL names. One in the call has precedence."""
    return namespace_said(url, namespace) or "default"


def namespace_said(url: str, namespace: str | None = None) -> str | None:
    """The same; None if neither says one."""
    return namespace or dict(parse_qsl(_split(url).query)).get("namespace")


def file_of(url: str) -> Path | None:
    """The file of a SQLite store; None for another store."""
    parts = _split(url)
    return Path(unquote(parts.path)[1:]) if parts.scheme == "sqlite" else None


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:  # an address with only one bracket
        raise BadSetup(f"store URL {without_secrets(url)!r} can't be used: {error}") from None


def _check_url(url: Any) -> None:
    if isinstance(url, PathLike):
        file = quote(fsdecode(cast("PathLike[str]", url)))
        raise BadSetup(f"{file!r} is a path, but a store needs a URL: write 'sqlite:///{file}'")
    if not isinstance(url, str):
        raise BadSetup(f"{url!r} is not a store URL: write {FORMS}")


def _store(url: str, query: Mapping[str, str], namespace: str, *, begins: bool) -> Store:
    parts = urlsplit(url)
    if parts.scheme in ("memory", "sqlite") and query:
        unknown = next(iter(query))
        raise BadSetup(f"store URL {url!r} has an unknown option {unknown!r}: only events and namespace are possible")
    if parts.scheme == "memory":
        if parts.netloc or parts.path:
            raise BadSetup(
                f"store URL {without_secrets(url)!r} names something, but a memory:// store has no name, and "
                "nobody else finds it: write memory://, and share its coordinator; or use sqlite:///file.db"
            )
        from .memory.store import MemoryStore

        return MemoryStore()
    if parts.scheme == "sqlite":
        return _sqlite(url, unquote(parts.path), namespace)
    if any("@" in each for each in (parts.path, *query)):
        raise BadSetup(
            f"store URL {without_secrets(url)!r} has an @ after its host: in a password, write / as %2F and ? as %3F"
        )
    if parts.scheme in ("redis", "rediss", "redis+sentinel", "rediss+sentinel"):
        from .redis.store import RedisStore

        return RedisStore(urlunsplit(parts._replace(query=urlencode(query))), namespace, begins=begins)
    if parts.scheme in ("redis+cluster", "rediss+cluster"):
        from .redis.cluster import ClusterStore

        return ClusterStore(urlunsplit(parts._replace(query=urlencode(query))), namespace, begins=begins)
    raise BadSetup(f"store URL {without_secrets(url)!r} can't be used: write {FORMS}")


def _sqlite(url: str, path: str, namespace: str) -> Store:
    from .sqlite.store import SqliteStore

    if not url.partition(":")[2].startswith("///") or not path.strip("/"):
        raise BadSetup(
            f"store URL {url!r} names no file: write sqlite:///file.db, or sqlite:////x/file.db for an absolute path"
        )
    if path == "/:memory:":
        raise BadSetup("SQLite's :memory: can't be shared by several connections: use memory://")
    return SqliteStore(path[1:], namespace)
