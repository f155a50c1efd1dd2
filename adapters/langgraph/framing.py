"""Framing: LangGraph's bookkeeping of a checkpoint, packed.

All of it is in each checkpoint, and little of it is new: what channels' versions and nodes' memories of them look like
packed is remembered, so that a put packs what changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from langgraph.checkpoint.base import Checkpoint

from ...contracts.codec import pack
from .compact import small_id, small_time, small_version

Seen = Mapping[str, tuple[Mapping[str, Any], bytes]]
"""By node: which versions it has seen, and both packed (empty if they were not, so far)."""


class Frame(NamedTuple):
    """LangGraph's bookkeeping of one checkpoint. Stored: the order and the meanings stay, and what is new comes behind.

    `format` is LangGraph's. Times, ids and versions are as compact.py makes them.
    """

    format: int
    ts: Any
    parent: Any
    versions: dict[str, Any]
    seen: dict[str, dict[str, Any]]
    updated: list[str] | None


def pack_frame(checkpoint: Checkpoint, parent: str, seen: Seen) -> bytes:
    """A packed `Frame`."""
    updated = checkpoint.get("updated_channels")
    versions = checkpoint["channel_versions"]
    return b"".join(
        [
            array_head(len(Frame._fields)),
            pack(checkpoint["v"], path="v"),
            pack(small_time(checkpoint["ts"]), path="ts"),
            _packed_id(parent),
            _packed_versions(versions),
            map_head(len(seen)),
            *[packed for _, packed in seen.values()],
            pack(None if updated is None else list(updated), path="updated_channels"),
        ]
    )


def seen_of(versions_seen: Mapping[str, Mapping[str, Any]], before: Seen) -> Seen:
    """What nodes have seen, packed where that is not remembered."""
    seen: dict[str, tuple[Mapping[str, Any], bytes]] = {}
    for node, versions in versions_seen.items():
        known = before.get(node)
        if known is None or not known[1] or known[0] != versions:
            known = dict(versions), _text(node) + _packed_versions(versions)
        seen[node] = known
    return seen


def _packed_versions(versions: Mapping[str, Any]) -> bytes:
    try:
        packed = map(_version, versions, versions.values())
        return map_head(len(versions)) + b"".join(packed)
    except TypeError:  # a version that has no hash
        return pack({channel: small_version(version) for channel, version in versions.items()}, path="versions")


# A version is in many checkpoints: that of a channel, and what each node has seen of it.
@lru_cache(maxsize=8192, typed=True)
def _version(channel: str, version: Any) -> bytes:
    return _text(channel) + pack(small_version(version), path=f"the version of {channel!r}")


@lru_cache(maxsize=4096)
def _text(name: str) -> bytes:
    return pack(name, path="a name of a node or channel")


@lru_cache(maxsize=1024)
def _packed_id(text: str) -> bytes:
    return pack(small_id(text), path="checkpoint_id")


def array_head(count: int) -> bytes:
    """How a packed list of so many items begins."""
    return _head(0x90, 0xDC, count)


def map_head(count: int) -> bytes:
    """How a packed dict of so many items begins."""
    return _head(0x80, 0xDE, count)


def _head(short: int, long: int, count: int) -> bytes:
    if count < 16:
        return bytes([short | count])
    return bytes([long]) + count.to_bytes(2, "big") if count < 65_536 else bytes([long + 1]) + count.to_bytes(4, "big")
