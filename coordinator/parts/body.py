"""Body: the bytes of a value that may grow. The body of a longer value begins with that of the shorter one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgpack

from ...contracts.codec import pack, unpack
from ...contracts.errors import Corrupted
from ...contracts.lean import dataclass

LIST, DICT, TEXT, BYTES, OTHER = "l", "d", "t", "b", "v"


@dataclass(slots=True)
class Body:
    """A value as packed by the codec: its items begin at `start`. `count` is the number of items (pairs of a dict)."""

    kind: str
    count: int
    packed: bytes
    start: int

    def __len__(self) -> int:
        return len(self.packed) - self.start


def body_of(value: Any, packed: bytes) -> Body:
    """The body of a value that is already packed."""
    kind, start = header(packed)
    if _KINDS.get(value.__class__) != kind:  # packed as something else: a value of a registered type
        return Body(OTHER, 1, packed, 0)
    return Body(kind, len(value) if kind in (LIST, DICT) else 1, packed, start)


def value_of(kind: str, count: int, body: bytes, unpack: Callable[[bytes], Any] = unpack) -> Any:
    """The value of a body, which must have been verified."""
    if kind == LIST:
        return unpack(_array(count) + body)
    if kind == DICT:
        return unpack(_map(count) + body)
    if kind == TEXT:
        return unpack(_text(len(body)) + body)
    if kind == BYTES:
        return bytes(body)
    if kind == OTHER:
        return unpack(body)
    raise Corrupted(f"a part of the unknown kind {kind!r}: a newer Batonpass may read it")


def appended(kind: str, items: Any, path: str) -> tuple[int, bytes]:
    """The number of these items, and their bytes, as the continuation of a body."""
    body = body_of(items, pack(items, path=path))
    return (body.count if kind in (LIST, DICT) else 0), body.packed[body.start :]


_KINDS: dict[type[Any], str] = {list: LIST, dict: DICT, str: TEXT, bytes: BYTES}
# By msgpack's first byte of a value: its kind, and how long its header is.
_HEADERS = {
    **dict.fromkeys(range(0x80, 0x90), (DICT, 1)),
    **dict.fromkeys(range(0x90, 0xA0), (LIST, 1)),
    **dict.fromkeys(range(0xA0, 0xC0), (TEXT, 1)),
    0xC4: (BYTES, 2),
    0xC5: (BYTES, 3),
    0xC6: (BYTES, 5),
    0xD9: (TEXT, 2),
    0xDA: (TEXT, 3),
    0xDB: (TEXT, 5),
    0xDC: (LIST, 3),
    0xDD: (LIST, 5),
    0xDE: (DICT, 3),
    0xDF: (DICT, 5),
}


def header(packed: bytes) -> tuple[str, int]:
    """A packed value's kind, and where its items begin."""
    return _HEADERS.get(packed[0], (OTHER, 0))


def _array(count: int) -> bytes:
    header: bytes = msgpack.Packer().pack_array_header(count)
    return header


def _map(count: int) -> bytes:
    header: bytes = msgpack.Packer().pack_map_header(count)
    return header


def _text(length: int) -> bytes:
    return b"\xdb" + length.to_bytes(4, "big")


def ends_in(body: memoryview, most: int) -> list[int]:
    """Where each packed value ends. None if there are more than `most`."""
    unpacker = cast("Any", msgpack.Unpacker(max_buffer_size=max(len(body), 1), strict_map_key=False))
    unpacker.feed(body)
    ends = list[int]()
    try:
        while len(ends) <= most:
            unpacker.skip()
            ends.append(unpacker.tell())
    except Exception:  # the end, or not packed at all
        return ends
    return []
