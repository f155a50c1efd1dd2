"""Dropping: deletes a whole namespace, where a store can keep several."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ..contracts.errors import BadSetup
from .urls import open_store

Progress = Callable[[str, int], None]


def drop_namespace(url: str, namespace: str, progress: Progress) -> int:
    """Delete everything that a namespace has. Returns the number of its jobs (SQLite) or keys (Redis)."""
    from .sqlite.store import SqliteStore

    store = open_store(url, namespace)
    if isinstance(store, SqliteStore):
        from .sqlite.checkup import examine
        from .sqlite.dropping import drop

        if not (examined := examine(store.path, namespace)).opens:  # store.examine() would read all pages first
            raise BadSetup("; ".join(each.text for each in examined.findings if each.level != "ok"))
        with closing(store):
            store.open()
            return drop(store, progress)
    if store.url.startswith("memory:"):
        raise BadSetup("memory:// exists only in its own process: there is nothing to delete")
    from .redis.dropping import drop as drop_keys

    parts = urlsplit(url)
    options = {**dict(parse_qsl(parts.query)), "namespace": namespace}
    return drop_keys(urlunsplit(parts._replace(query=urlencode(options))), progress)
