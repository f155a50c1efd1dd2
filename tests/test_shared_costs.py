"""What it costs to share: work and bytes of a save stay bounded, whatever was done to the value before."""

from __future__ import annotations

import random
from typing import Any

import pytest

from batonpass.coordinator.parts.nodes import Part, parts
from tests.harness.texts import words
from tests.test_pieces import Logs

_CHANCE = random.Random(17)


def _compacted(count: int) -> tuple[Logs, Any, list[Any]]:
    """A history from which each third message was dropped: its logs, its last draft, and what is left."""
    held: list[Any] = [{"text": f"{at} {words(_CHANCE, 1500)}"} for at in range(count)]
    logs = Logs()
    made = logs.save({"held": held}, None)
    logs.take(made)
    held = [each for at, each in enumerate(held) if at % 3]
    made = logs.save({"held": held}, made.nodes)
    logs.take(made)
    return logs, made, held


def test_an_append_goes_over_a_value_of_many_pieces_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It did so once for each of them."""
    logs, made, held = _compacted(300)
    assert max(len(part.spans) for _, part in parts(made.nodes.state)) > 90
    looks = list[Part]()
    ends = Part.ends

    def counted(part: Part) -> dict[str, int]:
        looks.append(part)
        return ends(part)

    monkeypatch.setattr(Part, "ends", counted)
    logs.take(logs.save({"held": [*held, {"text": "new"}]}, made.nodes))
    assert 0 < len(looks) < 4
