"""What a Redis server must be like, and what to warn its user of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from ...contracts.errors import BadSetup, Corrupted, NotFound
from ..refusals import refusal
from ..safety import UnsafeStore as UnsafeStore

# The form of a namespace on Redis. An older Batonpass refuses one that is newer than it knows. (A SQLite file's: see
# ../sqlite/schema.py.)
SCHEMA_VERSION = 7
_DIGITS = 9  # more than any version or number of partitions has

# The field of INFO by which each product is recognised, its name, and the oldest version that works. The first field
# that is there decides, because the others' `redis_version` is only the one that they are compatible with.
_PRODUCTS = (
    ("valkey_version", "Valkey", (7, 2)),
    ("redis_version", "Redis", (6, 2)),
)


def check_server(info: Mapping[str, Any], schema: bytes | None, url: str, replicas: int = 0) -> None:
    """Refuse a server or namespace that can't be used, and warn of a forgetful one. `replicas` must confirm writes."""
    check_version(info, url)
    check_schema(schema, url)
    check_replicas(info, url, replicas)
    for danger in dangers(info):
        warnings.warn(f"{url} {danger}", UnsafeStore, stacklevel=2)


def check_schema(schema: bytes | None, url: str) -> None:
    """Refuse a namespace made by a newer Batonpass. `None` is a new namespace."""
    if schema is not None and (version := number_of("schema", schema, url)) > SCHEMA_VERSION:
        raise BadSetup(
            f"{url}: a newer Batonpass made this namespace (schema {version}, this one knows {SCHEMA_VERSION}): "
            "install that version here"
        )


def number_of(key: str, held: bytes | Exception, url: str) -> int:
    """The number that a key of a namespace holds. `Corrupted` if that is none, as where it is no string."""
    if isinstance(held, Exception) and "WRONGTYPE" not in str(held):
        raise held
    if isinstance(held, Exception) or not held.isdigit() or len(held) > _DIGITS:
        what = "a value of another type" if isinstance(held, Exception) else repr(held)
        raise Corrupted(
            f"{url}: the namespace's key {key!r} holds {what}, which is no number: something has overwritten it. "
            f"Set it to what it was, as a backup has it{f' ({SCHEMA_VERSION} by this version)' * (key == 'schema')}"
        )
    return int(held)


def check_replicas(info: Mapping[str, Any], url: str, replicas: int) -> None:
    """Refuse a server with fewer replicas than must confirm writes."""
    connected = int(info.get("connected_slaves", 0))
    if connected < replicas:
        raise BadSetup(
            f"{url} has {connected} replica(s), but ?replicas={replicas} asks that many to confirm each write: "
            "attach replicas, or leave it out"
        )


def check_namespace(mark: bytes | None, partitions: bytes | None, url: str) -> None:
    """Refuse a namespace that was moved, or is being moved or filled, and a cluster's, of which this store would only
    see one partition."""
    if mark is not None:
        raise refusal("elsewhere", mark.decode())
    if partitions is not None and (count := number_of("partitions", partitions, url)) != 1:
        raise BadSetup(
            f"{url}: the namespace has {count} partitions, which redis+cluster:// alone can use: here jobs would be "
            "missing"
        )


def absent(namespace: str, url: str) -> NotFound:
    """The error for a namespace that is not there, and is not to be made: its name may be mistyped."""
    return NotFound(
        f"there is no namespace {namespace!r} in {url}: name one with --namespace, or with ?namespace= in the URL. A "
        "worker, `batonpass serve` or a submit with --app creates one"
    )


def product_of(info: Mapping[str, Any]) -> tuple[str, str]:
    """What a server is, and its version."""
    field, name, _ = _product(info)
    return name, str(info.get(field, "0"))


def check_version(info: Mapping[str, Any], url: str) -> None:
    """Refuse a server that is too old."""
    name, version = product_of(info)
    _, _, oldest = _product(info)
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < oldest:
        raise BadSetup(f"{url} runs {name} {version}: Batonpass needs {oldest[0]}.{oldest[1]} or newer")


def _product(info: Mapping[str, Any]) -> tuple[str, str, tuple[int, int]]:
    return next((row for row in _PRODUCTS if row[0] in info), _PRODUCTS[-1])


def is_replica(info: Mapping[str, Any]) -> bool:
    """Whether it accepts no writes, because they come from another server."""
    return info.get("role") == "slave"


def refusing(info: Mapping[str, Any]) -> str:
    """Why it takes no writes, "" if it does."""
    if int(info.get("aof_enabled", 0)) and info.get("aof_last_write_status", "ok") != "ok":
        return "can't write its append-only file (a full disk?): it refuses writes until it can"
    return ""


def dangers(info: Mapping[str, Any]) -> Iterator[str]:
    """How the server may lose acknowledged writes."""
    if not int(info.get("aof_enabled", 0)):
        yield "has no append-only file: a restart loses what was acknowledged (CONFIG SET appendonly yes)"
    if refuses := refusing(info):
        yield refuses
    policy = str(info.get("maxmemory_policy", "noeviction"))
    if int(info.get("maxmemory", 0)) and policy != "noeviction":
        yield f"may evict jobs when its memory is full (maxmemory-policy {policy}; set it to noeviction)"
    if is_replica(info) and int(info.get("cluster_enabled", 0)):
        yield (
            "has a replica where a master should be: a failover is under way, and what needs that master waits for its "
            "end, or the nodes disagree (look at CLUSTER NODES)"
        )
    elif is_replica(info):
        yield "is a replica, which accepts no writes: give the address of its master, or redis+sentinel://"
