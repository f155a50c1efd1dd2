"""What it costs to share: work and bytes of a save stay bounded, whatever was done to the value before."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.codec import pack
from batonpass.coordinator.parts.nodes import Part, parts, value
from batonpass.coordinator.parts.pieces import matches
from batonpass.coordinator.snapshots import Draft, draft
from tests.harness.texts import words
from tests.test_pieces import Logs, by_codec

_CHANCE = random.Random(17)


class _Counted(bytes):
    """Bytes that count how much of them was searched."""

    searched = 0

    def find(self, wanted: Any, start: Any = 0, end: Any = None) -> int:
        at = super().find(wanted, start, end)
        self.searched += (len(self) if end is None else end) - start if at < 0 else at - start
        return at


def test_what_is_searched_is_bounded_by_what_there_is() -> None:
    """It was as many times the old value as there are new texts: minutes, where some documents became chunks."""
    old = pack([words(_CHANCE, 100_000) for _ in range(4)])
    new = pack([words(_CHANCE, 2500) for _ in range(250)])
    base = _Counted(old[1:])
    found = matches("l", new[3:], base)
    assert (found[0].first, found[-1].last) == (0, len(new) - 3)
    times = base.searched / (len(old) + len(new))
    assert 0 < times < 40


def test_texts_that_were_edited_and_moved_are_still_found() -> None:
    old = [words(_CHANCE, 10_000) for _ in range(60)]
    new = [f"{words(_CHANCE, 300)} {text[:3000]} {words(_CHANCE, 9)} {text[3000:]}." for text in old]
    base, data = pack(old)[3:], pack(new)[3:]
    found = matches("l", data, base)
    assert sum(piece.last - piece.first for piece in found if piece.at >= 0) > 0.8 * len(data)


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
        id_ = f"d{number:023}"  # whether a value is written anew now depends on it
        made = draft(how(held), thread="run", agent="write", base=base, checkpoint_id=id_, codec=codec)
        sizes.append(logs.take(made))
        base = made.nodes
    assert value(base.state)["held"] == held
    whole = base.size
    assert sum(sizes[:2]) < whole / 4
    assert max(sizes[-100:]) < 2500
    assert sum(sizes) < 4 * whole + 400 * 900
