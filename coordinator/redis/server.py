"""What must be true of a Redis server, and what its user should be told."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ...contracts.errors import BadSetup
from ..rows import SCHEMA_VERSION

_OLDEST = (6, 2)


class UnsafeStore(UserWarning):
    """The store works, but can lose acknowledged writes. The message says when, and what to set."""


def check_server(info: Mapping[str, Any], schema: bytes | None, url: str) -> None:
    """Refuse a server that is too old or a namespace that is too new; warn of one that forgets."""
    version = str(info.get("redis_version", "0"))
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < _OLDEST:
        raise BadSetup(f"{url} runs Redis {version}: Batonpass needs 6.2 or newer")
    if schema is not None and int(schema) > SCHEMA_VERSION:
        raise BadSetup(
            f"{url}: a newer Batonpass made this namespace (schema {int(schema)}, this one knows {SCHEMA_VERSION})"
        )
    if not int(info.get("aof_enabled", 0)):
        warnings.warn(
            f"{url} has no append-only file: a restart loses what was acknowledged (CONFIG SET appendonly yes)",
            UnsafeStore,
            stacklevel=2,
        )
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if int(info.get("maxmemory", 0)) and policy != "noeviction":
        warnings.warn(
            f"{url} may evict jobs when its memory is full (maxmemory-policy {policy}; set it to noeviction)",
            UnsafeStore,
            stacklevel=2,
        )
