"""Bookkeeping: LangGraph's bookkeeping of a checkpoint, packed.

Each checkpoint has all of it, and little of it is new. So the packed forms of channels' versions, and of what nodes
have seen of them, are remembered, and a put packs only what changed. Needs no LangGraph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgpack

from ....contracts.codec import pack
from .compact import small_id, small_time, small_version

if TYPE_CHECKING:
    from langgraph.checkpoint.base import Checkpoint

# The format of what is stored of a checkpoint.
FORMAT = 2
# In LangGraph's metadata: counters of the delta channels whose values a checkpoint does not keep.
COUNTERS = "counters_since_delta_snapshot"


class VersionsSeen(NamedTuple):
    """The versions that each node has seen, and the node's name with these versions, packed. (After a read, nothing is
    packed yet.)"""

    versions: dict[str, Mapping[str, Any]]
    packed: dict[str, bytes]


NOTHING_SEEN = VersionsSeen({}, {})


class Bookkeeping(NamedTuple):
    """LangGraph's bookkeeping of one checkpoint. It is stored, so order and meanings must stay, and new fields come
    last.

    `format` is LangGraph's. Times, ids and versions are as `compact.py` makes them.
    """

    format: int
    ts: Any
    parent: Any
    versions: dict[str, Any]
    seen: dict[str, dict[str, Any]]
    updated: list[str] | None


def pack_bookkeeping(checkpoint: Checkpoint, parent: str, seen: VersionsSeen) -> bytes:
    """A packed `Bookkeeping`."""
    return b"".join(
        [
            _BEGIN,
            _packed_format(checkpoint["v"]),
            _packed_time(checkpoint["ts"]),
            _packed_id(parent),
            _packed_versions(checkpoint["channel_versions"]),
            map_head(len(seen.packed)),
            *seen.packed.values(),
            _packed_names(checkpoint.get("updated_channels")),
        ]
    )


def seen_of(versions_seen: Mapping[str, Mapping[str, Any]], before: VersionsSeen) -> tuple[VersionsSeen, list[str]]:
    """What nodes have seen, and which nodes had seen something else before. What is packed already stays packed."""
    known, packed = before
    new = [node for node, versions in versions_seen.items() if known.get(node) != versions]
    seen = {**known, **{node: dict(versions_seen[node]) for node in new}}
    if len(seen) != len(versions_seen):  # some are gone
        seen = {node: seen[node] for node in versions_seen}
    packed = {**packed, **{node: _packed_seen(node, seen[node]) for node in new}}
    if packed.keys() != seen.keys():
        packed = {node: packed.get(node) or _packed_seen(node, versions) for node, versions in seen.items()}
    return VersionsSeen(seen, packed), new


def _packed_seen(node: str, versions: Mapping[str, Any]) -> bytes:
    return packed_name(node) + _packed_versions(versions)


def _packed_versions(versions: Mapping[str, Any]) -> bytes:
    try:
        packed = map(_version, versions, versions.values())
        return map_head(len(versions)) + b"".join(packed)
    except TypeError:  # a version that can't be hashed
        return pack({channel: small_version(version) for channel, version in versions.items()}, path="versions")


# Cached, because each version is in many checkpoints: as a channel's, and as what each node has seen. Channels that
# were updated together have the same one.
@lru_cache(maxsize=8192, typed=True)
def _version(channel: str, version: Any) -> bytes:
    return packed_name(channel) + _packed_version(version)


@lru_cache(maxsize=1024, typed=True)
def _packed_version(version: Any) -> bytes:
    return pack(small_version(version), path="a channel's version")


@lru_cache(maxsize=16, typed=True)
def _packed_format(number: Any) -> bytes:
    return pack(number, path="v")


def _packed_names(names: Sequence[str] | None) -> bytes:
    return _NOTHING if names is None else b"".join([array_head(len(names)), *map(packed_name, names)])


@lru_cache(maxsize=4096)
def packed_name(name: str) -> bytes:
    """The name of a node or channel, packed."""
    return pack(name, path="a name of a node or channel")


def _packed_time(text: str) -> bytes:
    small = small_time(text)
    packed: bytes = _NUMBERS.pack(small) if type(small) is int else pack(small, path="ts")
    return packed


@lru_cache(maxsize=1024)
def _packed_id(text: str) -> bytes:
    small = small_id(text)
    return _UUID + small if type(small) is bytes else pack(small, path="checkpoint_id")


def array_head(count: int) -> bytes:
    """The first bytes of a packed list of this many items."""
    return _head(0x90, 0xDC, count)


def map_head(count: int) -> bytes:
    """The first bytes of a packed dict of this many items."""
    return _head(0x80, 0xDE, count)


def _head(short: int, long: int, count: int) -> bytes:
    if count < 16:
        return bytes([short | count])
    return bytes([long]) + count.to_bytes(2, "big") if count < 65_536 else bytes([long + 1]) + count.to_bytes(4, "big")


_NUMBERS: Any = msgpack.Packer()
_UUID = pack(bytes(16))[:2]  # the first bytes of a packed one
_BEGIN = array_head(len(Bookkeeping._fields))
_NOTHING = pack(None)
