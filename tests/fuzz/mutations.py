"""Mutations: bytes that were changed by accident, or made by somebody who knows the format."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgpack

# Heads of what claims to be very long, of types of ours and of none, and of what lies deep in itself.
_HEADS = [
    *(b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xc6\x7f\xff\xff\xff"),
    *(b"\xc9\x7f\xff\xff\xff\x01", b"\xdc\xff\xff", b"\xde\xff\xff", b"\xc8\xff\xff\x02", b"\xc7\xff\x14"),
    *(b"\x91", b"\x81", b"\x81\xa1k", b"\x9f", b"\x8f", b"\xc1", b"\xc0", b"\xff", b"\xcb" + b"\xff" * 8),
    *(b"\xd4\x00\x90", b"\xd6\xff" + bytes(4), b"\xd7\xff" + bytes(8), b"\xd8\x09" + bytes(16)),
    *(b"\x91" * 1100, b"\x81\xa1k" * 1100, b"\xdc\x27\x10" * 300),
]
# What a value of each of our types may claim to be.
_BODIES = [
    *(b"1e999999999", b"-1E+425000000", b"9" * 5000, b"sNaN", b"0x", b"\xff\xfe", b"", b"\0" * 400, b"../../etc/passwd"),
    *(msgpack.packb(value) for value in (-1, [], {}, None, [[]], "a" * 100, {"a": 1}, [0, 0, 2**63], [1.5] * 3)),
    *(msgpack.packb(["2026-01-02T03:04:05", zone, 1]) for zone in ("../x", "Europe/Nowhere", "", 2**60, [], ["x"], [1, 2])),
    *(b"\0\x09test.tree" + msgpack.packb(value) for value in (1, [], {"a": 1}, [{}, 1, 2, 3], "{}", "[" * 500)),
    *(b"\xff\xff", b"\0\0", b"\0\x01a", b"\0\x06os.env\x80", b"\0\x10trap.Trap\x80"),
]


def mutated(data: bytes, choose: random.Random, others: Sequence[bytes]) -> bytes:
    """The bytes after one to six changes."""
    changed = bytearray(data)
    for _ in range(choose.choice((1, 1, 1, 2, 3, 6))):
        at = choose.randrange(len(changed) + 1)
        match choose.randrange(9):
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
            case _:
                changed = wrapped(changed, choose)
    return bytes(changed)


def extension(choose: random.Random) -> bytes:
    """A value that says it is of one of our types."""
    packed: bytes = msgpack.packb(msgpack.ExtType(choose.choice((*range(12), 20, 21)), choose.choice(_BODIES)))
    return packed


def wrapped(data: bytes | bytearray, choose: random.Random) -> bytearray:
    """The bytes as what lies in tuples, sets and objects, one in the other."""
    inner = bytes(data[:2000])
    for _ in range(choose.choice((1, 2, 31, 32, 33, 40))):
        code = choose.choice((0, 0, 1, 2, 10))
        inner = msgpack.packb(msgpack.ExtType(code, choose.choice((b"", b"\x91", b"\x92\x01", b"\xdc\x00\x01")) + inner))
    return bytearray(inner)
