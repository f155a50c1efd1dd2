"""Store URLs: what `connect`, `--store` and BATONPASS_URL take."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from os import PathLike, fsdecode
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import SplitResult, parse_qsl, quote, unquote, unquote_plus, urlsplit, urlunsplit

from ..contracts.errors import BadSetup
from .calls.inputs import text
from .store import KEPT_EVENTS, Store

FORMS = (
    "sqlite:///file.db, redis://host:6379, rediss://host:6379, redis+sentinel://host:26379/service, "
    "redis+cluster://host:6379,host2:6379 (with TLS rediss+sentinel://, rediss+cluster://) or memory://"
)
DEFAULT_URL = "sqlite:///batonpass.db"
VARIABLE = "BATONPASS_URL"
R = TypeVar("R")
# How a URL begins, also if a mark is missing. (In a colon without a slash, a user's name may end.)
_BEGINNING = re.compile(r"(?:sqlite:/*|[a-z][a-z0-9+.-]*:/+|rediss?[a-z+]*//+)?", re.IGNORECASE)
# The options whose values are no secrets.
_PLAIN = (
    "(?:events|namespace|replicas|partitions|client_name|db|health_check_interval|max_connections"
    "|socket_connect_timeout|socket_timeout|ssl_(?:ca_certs|cert_reqs|certfile|check_hostname|keyfile))="
)
# The value of an option, with all before the next one that is known: an unescaped & may be in a secret.
_VALUE = f"[^&]*(?:&(?!{_PLAIN})[^&]*)*"
_SECRET = re.compile(f"([?&][^=&]*(?:pass|pw|secret|token|auth)[^=&]*=){_VALUE}", re.IGNORECASE)
_UNKNOWN = re.compile(f"([?&](?!{_PLAIN})[^=&]*=){_VALUE}")
# What follows the names of a web address's options, which stay. Anything may be a secret there.
_PARAMETER = re.compile(r";(?:([^=;/]*=))?[^;/]*")
_OPTION = re.compile(r"([^&=]+=|(?=[^&]))[^&]*")
_HOST = re.compile(r"(\[[^]]*\]?|[^:\[\]]*)(:\d{0,5})?")
_QUOTED = re.compile(r"'([^']*)'|=(\S+?),?(?:\s|$)")


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
        raise unusable(url, f"?events={events}, but it must be a number, 1 or more: how many events to keep")
    store = _store(url, query, namespace, begins=begins)
    store.kept_events = int(events)
    return store


def without_secrets(url: str) -> str:
    """A URL without what may be a login's, to be shown. A malformed URL may have a / or ? in its password and so seem
    to have other parts than it has, so everything before the last @ counts as the login. If the @ itself is missing,
    the password is where a port would be."""
    beginning = _BEGINNING.match(url)
    start = beginning.end() if beginning else 0
    login, at, place = _SECRET.sub(r"\1***", url[start:]).rpartition("@")
    user, colon, _ = login.partition(":")
    if at and not colon and not url.startswith("sqlite:"):  # nobody says that it is a name and no password
        user = "***"
    place = _place_shown(_UNKNOWN.sub(r"\1***", place))
    return f"{url[:start]}{user}{colon}{'***' if colon else ''}{at}{place}"


def unusable(url: str, why: object) -> BadSetup:
    """The refusal of a URL, which shows no password: neither does its reason."""
    return BadSetup(f"store URL {without_secrets(url)!r} can't be used: {without_quotes(url, why)}")


def without_quotes(url: str, why: object) -> str:
    """Why a URL can't be used, without what is not shown of it."""
    known = unquote_plus(without_secrets(url))
    if all((word or value) in known for word, value in _QUOTED.findall(str(why))):
        return str(why)
    login = "in a login, write / as %2F, ? as %3F, & as %26, [ as %5B and ] as %5D, and @ after it"
    return f"it can't be read, or has an unknown option: {login}"


def address_without_secrets(url: str) -> str:
    """The same for a web address that is well formed: its path may have an @. Of its options only the names are shown:
    each service has another one for its key."""
    start = re.match(r"[^/]*//[^/?#]*", url)
    end = start.end() if start else 0
    rest, mark, _ = url[end:].partition("#")
    path, question, query = rest.partition("?")
    path, query = _PARAMETER.sub(r";\1***", path), _OPTION.sub(r"\1***", query)
    return f"{without_secrets(url[:end])}{path}{question}{query}{mark}{'***' if mark else ''}"


def without_options(url: str, *names: str) -> str:
    """The URL without some of its options. Otherwise it stays as written, so that a refusal shows what was given."""
    parts = urlsplit(url)
    kept = [each for each in parts.query.split("&") if unquote_plus(each.partition("=")[0]) not in names]
    return urlunsplit(parts._replace(query="&".join(kept)))


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
        raise unusable(url, error) from None


def _place_shown(place: str) -> str:
    """What follows a login. Where a host is not followed by a port, it is no host but a login whose @ is missing."""
    hosts = re.split("[/?]", place, maxsplit=1)[0]
    at = 0
    for host in hosts.split(","):
        if not _HOST.fullmatch(host):
            name, colon, _ = host.partition(":")
            return f"{place[:at]}{name if colon else ''}{colon}***"
        at += len(host) + 1
    return place


def _check_url(url: Any) -> None:
    if isinstance(url, PathLike):
        path = fsdecode(cast("PathLike[str]", url))
        if ":/" in path:
            raise BadSetup(f"{without_secrets(path)!r} is a path, but a store needs a URL: give it as text")
        raise BadSetup(f"{quote(path)!r} is a path, but a store needs a URL: write 'sqlite:///{quote(path)}'")
    if not isinstance(url, str):
        raise BadSetup(f"{without_secrets(repr(url))} is not a store URL: write {FORMS}")


def _store(url: str, query: Mapping[str, str], namespace: str, *, begins: bool) -> Store:
    parts = urlsplit(url)
    if parts.scheme in ("memory", "sqlite") and query:
        unknown = f"it has an unknown option {next(iter(query))!r}"
        raise unusable(url, f"{unknown}: only events and namespace are possible")
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
    bare = without_options(url, "events", "namespace")
    if any("@" in each for each in (parts.path, *query)):
        raise BadSetup(
            f"store URL {without_secrets(url)!r} has an @ after its host: in a password, write / as %2F and ? as %3F"
        )
    if parts.scheme in ("redis", "rediss", "redis+sentinel", "rediss+sentinel"):
        from .redis.store import RedisStore

        return RedisStore(bare, namespace, begins=begins)
    if parts.scheme in ("redis+cluster", "rediss+cluster"):
        from .redis.cluster import ClusterStore

        return ClusterStore(bare, namespace, begins=begins)
    raise BadSetup(f"store URL {without_secrets(url)!r} can't be used: write {FORMS}")


def _sqlite(url: str, path: str, namespace: str) -> Store:
    from .sqlite.store import SqliteStore

    if not url.partition(":")[2].startswith("///") or not path.strip("/"):
        forms = "sqlite:///file.db, or sqlite:////x/file.db for an absolute path"
        raise BadSetup(f"store URL {without_secrets(url)!r} names no file: write {forms}")
    if path == "/:memory:":
        raise BadSetup("SQLite's :memory: can't be shared by several connections: use memory://")
    return SqliteStore(path[1:], namespace)
