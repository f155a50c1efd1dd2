"""Texts like those of agents: seeded random words, so that a run can be repeated and nothing compresses by itself."""

from __future__ import annotations

import random

# What each byte drawn stands for: a letter, or in one of seven cases the end of a word.
_LETTERS = bytes.maketrans(bytes(range(256)), (b"etaoin hrdlucm wypvbgk qxz " * 10)[:256])


def words(chance: random.Random, size: int) -> str:
    """`size` characters of words."""
    return chance.randbytes(size).translate(_LETTERS).decode()


def message(chance: random.Random, size: int = 500) -> dict[str, str]:
    """A message of a transcript."""
    return {"role": "assistant", "content": words(chance, size), "id": f"{chance.getrandbits(128):032x}"}
