"""Lean dataclasses: they behave as the standard ones."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, cast

import pytest

from batonpass.contracts.lean import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    at: float = field(default=0.0, compare=False)
    token: str = field(default="", repr=False)


@dataclass(slots=True)
class Pen:
    ink: str = "blue"


@dataclass
class Box:
    of: int = 1


@dataclass(eq=False)
class Door:
    open: bool = False


def test_they_are_equal_by_what_is_compared() -> None:
    assert Point(1, at=5.0) == Point(1, at=6.0)
    assert Point(1) != Point(1, y=3)
    assert Point(1) != cast(Any, (1, 2))
    assert len({Point(1), Point(1, at=5.0), Point(2)}) == 2


def test_they_show_their_values() -> None:
    assert repr(Point(1, token="secret")) == "Point(x=1, y=2, at=0.0)"


def test_what_can_change_has_no_hash() -> None:
    pen = replace(Pen(), ink="red")
    pen.ink = "green"
    assert pen == Pen("green")
    assert Box(2) == Box(2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(pen)


def test_without_eq_each_is_itself() -> None:
    assert Door() != Door()
    assert len({Door(), Door()}) == 2
