"""What it costs to share: work and bytes of a save stay bounded, whatever was done to the value before."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator.parts.nodes import Part, parts, value
from batonpass.coordinator.snapshots import Draft, draft
from tests.harness.texts import words
from tests.test_pieces import Logs, by_codec

_CHANCE = random.Random(17)


def _compacted(count: int, codec: bp.Codec | None = None) -> tuple[Logs, Draft, list[Any]]:
    """A history from which each third message was dropped: its logs, its last draft, and what is left."""
    held: list[Any] = [{"text": f"{at} {words(_CHANCE, 1500)}"} for at in range(count)]
    logs = Logs(codec)
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


def _new() -> dict[str, str]:
    return {"text": words(_CHANCE, 150)}


def _whole(held: list[Any]) -> Snapshot:
    held.append(_new())
    return Snapshot(step="step", state={"held": held})


def _appended(held: list[Any]) -> Snapshot:
    held.append(_new())
    return Snapshot(step="step", append={"held": held[-1:]})


def _edited(held: list[Any]) -> Snapshot:
    held[-1] = _new()
    return Snapshot(step="step", state={"held": held})


def _beside(held: list[Any]) -> Snapshot:
    return Snapshot(step="step", changes={"round": _CHANCE.random()})


@by_codec
@pytest.mark.parametrize("how", [_whole, _appended, _edited, _beside])
def test_what_was_compacted_once_costs_little_from_some_time_on(
    how: Callable[[list[Any]], Snapshot], codec: bp.Codec | None
) -> None:
    """The spans of its pieces were kept with each checkpoint for ever. Now they cost as much as the value, about."""
    logs, made, held = _compacted(300, codec)
    base, sizes = made.nodes, list[int]()
    for number in range(400):
        id_ = f"c{number:023}"  # whether a value is written anew now depends on it
        made = draft(how(held), thread="run", agent="write", base=base, checkpoint_id=id_, codec=codec)
        sizes.append(logs.take(made))
        base = made.nodes
    assert value(base.state)["held"] == held
    whole = base.size
    assert sum(sizes[:2]) < whole / 4
    assert max(sizes[-100:]) < 2500
    assert sum(sizes) < 4 * whole + 400 * 900
