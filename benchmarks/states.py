"""States to save: transcripts of random words, the same in every run."""

from __future__ import annotations

import random
from typing import Any

from batonpass.contracts.codec import pack

SIZE = 4096
_LETTERS = "etaoinshrdlucmfwypvbgkjqxz"


def states(count: int = 64, size: int = SIZE) -> list[dict[str, Any]]:
    """Different states, each of `size` bytes when packed."""
    chance = random.Random(4821)
    words = ["".join(chance.choices(_LETTERS, k=chance.randint(2, 9))) for _ in range(3000)]
    return [_state(chance, words, size) for _ in range(count)]


def _state(chance: random.Random, words: list[str], size: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    state = {"messages": messages, "topic": "incident", "round": 3, "cost": 0.0125}
    while len(pack(state)) < size:
        text = " ".join(chance.choices(words, k=60))
        messages.append({"id": f"{chance.getrandbits(64):016x}", "role": "assistant", "content": text})
    messages[-1]["content"] = messages[-1]["content"][: size - len(pack(state))]
    return state
