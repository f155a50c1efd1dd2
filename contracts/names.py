"""Ids: minted here, checked here. An id says what it names and in which partition that lives.

    j 00 8k2v9x0ab 4n7q1zt5m3kd      kind, partition (2), milliseconds when minted (9), random (12); in base 32

The partition in an id is one of MAX_PARTITIONS, whatever the store: one that has fewer keeps the id's number modulo
its own. So ids are minted without asking a store, and stay right when a namespace gets more partitions.

Ids are minted by the client, so that an operation retried after a lost reply is the same operation. The time in
them only keeps neighbours together in an index; nothing is ordered by it. Keys of a store are built from ids and
digests alone, never from text that a user chose.
"""

from __future__ import annotations

import os
import re
import time
from functools import lru_cache
from hashlib import blake2b
from secrets import token_bytes

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PATTERN = re.compile(rf"[jclf][{_ALPHABET}]{{23}}\Z")
MAX_PARTITIONS = 1024
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_DIGITS = _ALPHABET.encode() * 8  # a random byte as a random digit
# Random digits for the next ids, 14 for each. Asking the system for each id would let go of the interpreter each time,
# and a busy thread may then keep it. That made a put in memory, from a thread beside a running graph, 10 % slower.
_ready: list[str] = []
_AHEAD = 128
os.register_at_fork(after_in_child=_ready.clear)


def mint(kind: str, partition: int | None = 0) -> str:
    """A new id. `kind` is "j" (job), "c" (checkpoint), "l" (lease) or "f" (fan-out); None is any partition."""
    # Every save mints an id, so what can be looked up is not computed.
    second, rest = divmod(time.time_ns() // 1_000_000, 1024)
    try:
        digits = _ready.pop()
    except IndexError:
        digits, *others = _random(14, _AHEAD)
        _ready.extend(others)
    where = digits[12:] if partition is None else _PAIRS[partition]
    return f"{kind}{where}{_second(second)}{_PAIRS[rest]}{digits[:12]}"


def mint_some(kind: str, count: int) -> list[str]:
    """As many new ids in partition 0, at less cost."""
    second, rest = divmod(time.time_ns() // 1_000_000, 1024)
    begin = f"{kind}{_PAIRS[0]}{_second(second)}{_PAIRS[rest]}"
    return [begin + digits for digits in _random(12, count)]


def _random(length: int, count: int) -> list[str]:
    digits = token_bytes(length * count).translate(_DIGITS).decode()
    return [digits[at : at + length] for at in range(0, length * count, length)]


@lru_cache(maxsize=4)
def _second(number: int) -> str:
    return "".join([_PAIRS[number >> shift & 1023] for shift in (30, 20, 10, 0)])[1:]


def is_id(text: str, kind: str) -> bool:
    """Whether `text` has the form of a minted id of that kind."""
    return text[:1] == kind and _PATTERN.match(text) is not None


def partition_of(minted: str) -> int:
    """The partition that a minted id names."""
    return _ALPHABET.index(minted[1]) * 32 + _ALPHABET.index(minted[2])


def minted_at(minted: str) -> int:
    """When an id was minted, in ms since 1970 by the clock of its client: for what is said about it, not for order."""
    return sum(_ALPHABET.index(digit) << 5 * place for place, digit in enumerate(reversed(minted[3:12])))


@lru_cache(maxsize=256)
def home(thread: str) -> int:
    """The partition of a thread and of everything on it: the one in the job's id that names it, else by its name."""
    return partition_of(thread if is_id(thread, "j") else f"-{digest(thread)[-2:]}")


@lru_cache(maxsize=256)
def digest(*parts: str) -> str:
    """A key-safe name for texts from users: equal texts only, whatever characters they hold (160 bits, base 32)."""
    hashed = blake2b(digest_size=32)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.digest().translate(_DIGITS).decode()  # five bits of each byte
