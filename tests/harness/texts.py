"""Texts like those of agents: seeded random words, so that a run can be repeated and nothing compresses by itself."""

from __future__ import annotations

import random

_LETTERS = "etaoinshrdlucmfwypvbgkjqxz"


def words(chance: random.Random, size: int) -> str:
    """About `size` characters of words."""
    text = ""
    while len(text) < size:
        text += "".join(chance.choices(_LETTERS, k=chance.randint(2, 9))) + " "
    return text[:size]


def message(chance: random.Random, size: int = 500) -> dict[str, str]:
    """A message of a transcript."""
    return {"role": "assistant", "content": words(chance, size), "id": f"{chance.getrandbits(128):032x}"}
