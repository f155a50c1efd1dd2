"""Ids: minted here, checked here. An id says what it names and in which partition that lives.

    j 00 8k2v9x0ab 4n7q1zt5m3kd      kind, partition (2), milliseconds when minted (9), random (12); in base 32

Ids are minted by the client, so that an operation retried after a lost reply is the same operation. The time in
them only keeps neighbours together in an index; nothing is ordered by it. Keys of a store are built from ids and
digests alone, never from text that a user chose.
"""

from __future__ import annotations

import re
import secrets
import time
from hashlib import blake2b

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PATTERN = re.compile(rf"[jcl][{_ALPHABET}]{{23}}\Z")
MAX_PARTITIONS = 1024
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]


def _base32(number: int, width: int) -> str:
    digits = []
    for _ in range(width):
        number, digit = divmod(number, 32)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


def mint(kind: str, partition: int = 0) -> str:
    """A new id. `kind` is "j" (job), "c" (checkpoint) or "l" (lease)."""
    when = time.time_ns() // 1_000_000 % 2**45
    number = (partition << 45 | when) << 60 | secrets.randbits(60)
    # Two digits at a time: every save mints an id.
    pairs = [_PAIRS[number >> shift & 1023] for shift in range(105, 4, -10)]
    return f"{kind}{''.join(pairs)}{_ALPHABET[number & 31]}"


def is_id(text: str, kind: str) -> bool:
    """Whether `text` has the form of a minted id of that kind."""
    return text[:1] == kind and _PATTERN.match(text) is not None


def partition_of(minted: str) -> int:
    """The partition that a minted id names."""
    return _ALPHABET.index(minted[1]) * 32 + _ALPHABET.index(minted[2])


def digest(*parts: str) -> str:
    """A key-safe name for texts from users: equal texts only, whatever characters they hold (160 bits, base 32)."""
    hashed = blake2b(digest_size=20)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "big") + data)
    return _base32(int.from_bytes(hashed.digest(), "big"), 32)
