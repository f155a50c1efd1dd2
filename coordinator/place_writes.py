"""Place writes: the format of what frameworks write at places. It is a checksum, then a description by the writer, then
the packed value, or (if the value is in logs) its kind, its length in items, and the hash of its spans' bytes. A dict
that is in several pieces of logs, or a value that a codec has framed there, has `PIECES` as its kind, and in place of a
length what `pieces_of` says."""

from __future__ import annotations

from typing import Any

from xxhash import xxh3_64_digest

from ..contracts.codec import pack, pack_plain, unpack
from ..contracts.errors import Corrupted
from .coded.codec import check_open, missing_key
from .parts.body import value_of
from .parts.nodes import Node, skeleton
from .parts.spans import read_spans
from .parts.stored import describe, put_in, read_parts
from .rows import Write
from .seals import content_hash

PIECES = "p"
_CHECK = 8
_NAMED = 3


def close_write(about: list[Any]) -> bytes:
    """A write's data, made of only texts, numbers and bytes."""
    packed = pack_plain(about)
    return xxh3_64_digest(packed) + packed


def pieces_of(node: Node) -> bytes:
    """What a write says of a value whose parts are in logs."""
    entries, _ = describe(node, None)
    return pack_plain([skeleton(node), pack(entries)])


def framed_spans(write: Write) -> list[bool]:
    """Which spans of a write that was read hold its value in coded portions."""
    about: list[Any] = unpack(write.data[_CHECK:])
    if about[-_NAMED] != PIECES:
        return [False] * len(write.bodies)
    entries: list[Any] = unpack(unpack(about[1 - _NAMED])[1])
    return [bool(framed) for _, _, _, _, pieces, _, *framed in entries for _ in range(pieces)]


def is_framed(write: Write) -> bool:
    """Whether a codec has coded what a write has in logs."""
    return bool(write.spans) and is_written(write.data) and any(framed_spans(write))


def _in_one(told: bytes, write: Write, where: str) -> Any:
    held, entries = unpack(told)
    roots = [unpack(held)]
    for stored in read_parts(unpack(entries), read_spans(write.spans), write.bodies, roots):
        if stored.part is None:
            raise _damaged(where)
        put_in(roots, stored)
    return roots[0]


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
        raise missing_key(write.bodies) or _damaged(where)
    return about[:-_NAMED], _in_one(count, write, where) if kind == PIECES else value_of(kind, count, body)


def inlined(write: Write) -> Write:
    """A write that was read, with its value instead of a reference to logs."""
    if not write.spans:
        return write
    about, held = open_write(write, write.name)
    return Write(write.name, close_write([*about, pack(held)]), again=write.again)


def _damaged(where: str) -> Corrupted:
    return Corrupted(f"what was written at {where} is not what was saved; older checkpoints may be readable")
