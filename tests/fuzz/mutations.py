"""Mutations: bytes that were changed by accident, or made by somebody who knows the format."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgpack

_ODD: list[Any] = [None, True, 0, -1, 2**63, 1e300, "", "x" * 300, b"", b"\xff" * 20, [], {}, [[]], {1: 2}, {None: 1}]
_NUMBER = re.compile(rb"\d+")
_NUMBERS = [b"0", b"-1", b"9" * 30, b"9" * 5000, b"253402300800000", b"1e5", b"", b"00"]

# Heads of values that claim to be very long, of our types and of unknown ones, and of deeply nested values.
_HEADS = [
    *(b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xc6\x7f\xff\xff\xff"),
    *(b"\xc9\x7f\xff\xff\xff\x01", b"\xdc\xff\xff", b"\xde\xff\xff", b"\xc8\xff\xff\x02", b"\xc7\xff\x14"),
    *(b"\x91", b"\x81", b"\x81\xa1k", b"\x9f", b"\x8f", b"\xc1", b"\xc0", b"\xff", b"\xcb" + b"\xff" * 8),
    *(b"\xd4\x00\x90", b"\xd6\xff" + bytes(4), b"\xd7\xff" + bytes(8), b"\xd8\x09" + bytes(16)),
    *(b"\x91" * 1100, b"\x81\xa1k" * 1100, b"\xdc\x27\x10" * 300),
]
# What a value of each of our types may claim to be.
_BODIES: list[bytes] = [
    *(b"1e999999999", b"-1E+425000000", b"9" * 5000, b"sNaN", b"0x", b"\xff\xfe", b"", b"\0" * 400, b"../passwd"),
    *map(msgpack.packb, (-1, [], {}, None, [[]], "a" * 100, {"a": 1}, [0, 0, 2**63], [1.5] * 3)),
    *(msgpack.packb(["2026-01-02T03:04:05", zone, 1]) for zone in ("../x", "Europe/Nowhere", "", 2**60, [], [1, 2])),
    *(b"\0\x09fuzz.tree" + msgpack.packb(value) for value in (1, [], {"a": 1}, [{}, 1, 2, 3], "{}", "[" * 500)),
    *(b"\xff\xff", b"\0\0", b"\0\x01a", b"\0\x06os.env\x80", b"\0\x10trap.Trap\x80"),
]


def mutated(data: bytes, choose: random.Random, others: Sequence[bytes]) -> bytes:
    """The bytes with some of their values exchanged, or after one to six changes that know nothing of values."""
    if choose.random() < 0.4:
        found = reshaped(data, choose)
        if found is not None:
            return found
    changed = bytearray(data)
    for _ in range(choose.choice((1, 1, 1, 2, 3, 6))):
        at = choose.randrange(len(changed) + 1)
        match choose.randrange(10):
            case 0:
                changed[at : at + 1] = bytes([choose.randrange(256)])
            case 1 if at < len(changed):
                changed[at] ^= 1 << choose.randrange(8)
            case 2:
                changed[at:at] = choose.randbytes(choose.randrange(1, 5))
            case 3:
                del changed[at : at + choose.randrange(1, 40)]
            case 4:
                changed[at:at] = changed[choose.randrange(len(changed) + 1) :][: choose.randrange(60)]
            case 5:
                changed[at : at + 1] = choose.choice(_HEADS)
            case 6:
                changed[at : at + choose.randrange(3)] = extension(choose)
            case 7:
                other = choose.choice(others)
                changed[at:] = other[choose.randrange(len(other) + 1) :]
            case 8:
                changed = renumbered(changed, choose)
            case _:
                changed = wrapped(changed, choose)
    return bytes(changed)


def reshaped(data: bytes, choose: random.Random) -> bytes | None:
    """The same values with one of them exchanged, taken out or put in twice, and some inside of our types."""
    for start in (0, 1, 17):  # after a format byte, or a format byte and a hash
        try:
            value = msgpack.unpackb(data[start:], strict_map_key=False)
        except Exception:
            continue
        places = list(_places(value, lambda _: None))
        if places:
            for _ in range(choose.choice((1, 1, 2))):
                item, put = choose.choice(places)
                put(_other(item, choose))
        packed: bytes = msgpack.packb(value)
        return data[:start] + packed
    return None


def _places(value: Any, put: Callable[[Any], None]) -> Iterator[tuple[Any, Callable[[Any], None]]]:
    """Every value that lies in another, and how another one is put in its place."""
    if isinstance(value, dict | list):
        keys: Any = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield value[key], partial(value.__setitem__, key)
            yield from _places(value[key], partial(value.__setitem__, key))
    elif isinstance(value, msgpack.ExtType):
        yield value, put


def _other(item: Any, choose: random.Random) -> Any:
    way = choose.randrange(6)
    if way == 0 and isinstance(item, msgpack.ExtType):
        inner = reshaped(item.data, choose)
        return msgpack.ExtType(item.code, item.data[1:] if inner is None else inner)
    if way == 1 and isinstance(item, msgpack.ExtType):
        return msgpack.ExtType(choose.choice((*range(12), 20, 21)), item.data)
    if way == 2:
        return msgpack.ExtType(choose.choice((*range(12), 20)), choose.choice(_BODIES))
    if way == 3:
        return [item, item]
    return {"x": item} if way == 4 else choose.choice(_ODD)


def extension(choose: random.Random) -> bytes:
    """A value that says it is of one of our types."""
    packed: bytes = msgpack.packb(msgpack.ExtType(choose.choice((*range(12), 20, 21)), choose.choice(_BODIES)))
    return packed


def renumbered(data: bytes | bytearray, choose: random.Random) -> bytearray:
    """The bytes with other numbers in their texts."""
    return bytearray(_NUMBER.sub(lambda _: choose.choice(_NUMBERS), bytes(data), count=choose.randrange(9)))


def wrapped(data: bytes | bytearray, choose: random.Random) -> bytearray:
    """The bytes inside tuples, sets and objects, one in the other."""
    inner = bytes(data[:2000])
    heads = (b"", b"\x91", b"\x92\x01", b"\xdc\x00\x01")
    for _ in range(choose.choice((1, 2, 31, 32, 33, 40))):
        inner = msgpack.packb(msgpack.ExtType(choose.choice((0, 0, 1, 2, 10)), choose.choice(heads) + inner))
    return bytearray(inner)
