"""Namespaces on a shared server: store URLs, each with a namespace of its own, which is emptied afterwards."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def namespaces(url: str, client: Any) -> Iterator[Callable[[], str]]:
    """Makes them. (Some tests look at every key of the server, so anything left behind slows them down.)"""
    names: list[str] = []

    def make() -> str:
        names.append(f"t{secrets.token_hex(6)}")
        return f"{url}?namespace={names[-1]}"

    yield make
    for name in names:
        if keys := list(client.scan_iter(match=f"bp:{{{name}:*", count=1000)):
            client.unlink(*keys)
