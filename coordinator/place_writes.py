"""Place writes: the format of what frameworks write at places. It is a checksum, then a description by the writer, then
the packed value, or (if the value is in logs) its kind, its length in items, and the hash of its spans' bytes."""

from __future__ import annotations

from typing import Any

from xxhash import xxh3_64_digest

from ..contracts.codec import pack, pack_plain, unpack
from ..contracts.errors import Corrupted
from .coded.codec import check_open
from .parts.body import value_of
from .rows import Write
from .seals import content_hash

_CHECK = 8
_NAMED = 3


def close_write(about: list[Any]) -> bytes:
    """A write's data, made of only texts, numbers and bytes."""
    packed = pack_plain(about)
    return xxh3_64_digest(packed) + packed


def is_written(data: bytes) -> bool:
    """Whether this is intact data from `close_write`."""
    return xxh3_64_digest(data[_CHECK:]) == data[:_CHECK]


def open_write(write: Write, where: str) -> tuple[list[Any], Any]:
    """The writer's description and the value of a write that was read. `Corrupted` if it is damaged."""
    if not is_written(write.data):
        check_open(write.data, f"what was written at {where}")
        raise _damaged(where)
    about: list[Any] = unpack(write.data[_CHECK:])
    if not write.spans:
        return about[:-1], unpack(about[-1])
    kind, count, digest = about[-_NAMED:]
    body = b"".join(write.bodies)
    if content_hash(body) != digest:
        raise _damaged(where)
    return about[:-_NAMED], value_of(kind, count, body)


def inlined(write: Write) -> Write:
    """A write that was read, with its value instead of a reference to logs."""
    if not write.spans:
        return write
    about, held = open_write(write, write.name)
    return Write(write.name, close_write([*about, pack(held)]), again=write.again)


def _damaged(where: str) -> Corrupted:
    return Corrupted(f"what was written at {where} is not what was saved; older checkpoints may be readable")
