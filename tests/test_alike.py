"""Alike: values that can't be told apart. `==` takes True for 1, and -0.0 for 0.0."""

from __future__ import annotations

import dataclasses
import sys
from collections import OrderedDict
from enum import StrEnum
from functools import cached_property
from itertools import count
from types import FrameType
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, PrivateAttr

import batonpass as bp
from batonpass.contracts.alike import alike


class Color(StrEnum):
    RED = "red"


class Name(str):
    pass


class Rows(list[Any]):
    pass


@dataclasses.dataclass
class Box:
    held: Any

    @cached_property
    def size(self) -> int:
        """A cached value, which no state keeps."""
        return 1


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    held: Any


def box(held: Any, **beside: Any) -> Box:
    found = Box(held)
    vars(found).update(beside)
    return found


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    held: Any
    _seen: int = PrivateAttr(0)

    @cached_property
    def size(self) -> int:
        return 1


class Grid:
    """Like an array: `==` compares item by item, if that is possible."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __eq__(self, other: Any) -> Any:
        if len(self.items) != len(other.items):
            raise ValueError("grids of different sizes can't be compared")
        return Grid([one == another for one, another in zip(self.items, other.items, strict=True)])

    def __bool__(self) -> bool:
        raise ValueError("the truth value of a grid is ambiguous")

    __hash__ = object.__hash__


class Stored(Grid):
    pass


class Lone:
    """A class without an `==`."""

    def __init__(self, held: Any) -> None:
        self.held = held


class Sealed(Lone):
    """Like what is encrypted: what is dumped is never the same twice."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sealed) and self.held == other.held

    __hash__ = object.__hash__


class Stamped(Lone):
    pass


class Price(float):
    pass


NUMBERS = count()


def numbered(each: Lone) -> list[Any]:
    return [next(NUMBERS), each.held]


bp.state_type("alike.stored", Stored, dump=lambda grid: grid.items, load=Stored)
bp.state_type("alike.lone", Lone, dump=lambda each: each.held, load=Lone)
bp.state_type("alike.sealed", Sealed, dump=numbered, load=lambda of: Sealed(of[1]))
bp.state_type("alike.stamped", Stamped, dump=numbered, load=lambda of: Stamped(of[1]))
bp.state_type("alike.price", Price, dump=float, load=Price)
GRID, STAMPED = Grid([1]), Stamped(1)


def read(found: Box | Open) -> Box | Open:
    assert found.size
    return found


NAN, OTHER_NAN = float("nan"), float("nan")
ALIKE: list[tuple[Any, Any]] = [
    (None, None),
    (10**30, 10**30),
    (NAN, OTHER_NAN),
    ({"a": [1, {"b": NAN}], 1: (b"x", True)}, {"a": [1, {"b": OTHER_NAN}], 1: (b"x", True)}),
    ({1, 2, 3}, {3, 2, 1}),
    ({1, 2.0, "a", (True, 0)}, {(True, 0), "a", 2.0, 1}),
    (frozenset({NAN, (1, NAN), 2}), frozenset({OTHER_NAN, (1, OTHER_NAN), 2})),
    ({Slotted(1), Slotted("a")}, {Slotted("a"), Slotted(1)}),
    (box(1, more=[NAN]), box(1, more=[OTHER_NAN])),
    (read(box(1)), box(1)),
    (read(Open(held=NAN)), Open(held=OTHER_NAN)),
    (Rows([1, Name("a")]), Rows([1, Name("a")])),
    (Stored([1, NAN]), Stored([1, OTHER_NAN])),
    ({"grid": Stored([Stored([1])])}, {"grid": Stored([Stored([1])])}),
    (Stored([object, 1]), Stored([object, 1])),
    (Lone([1, NAN]), Lone([1, OTHER_NAN])),
    (Sealed("a"), Sealed("a")),
    (STAMPED, STAMPED),
    (Price(NAN), Price(OTHER_NAN)),
    (GRID, GRID),
]
DIFFERENT: list[tuple[Any, Any]] = [
    (1, True),
    (1, 1.0),
    (0, None),
    (0.0, -0.0),
    ("a", b"a"),
    ("red", Color.RED),
    ("a", Name("a")),
    ([1], (1,)),
    ([1], Rows([1])),
    ([1], [1, 2]),
    ({1}, {True}),
    ({1, False}, {True, 0}),
    ({1, 2.0}, {1.0, 2}),
    ({1, 2}, {1, 3}),
    ({1}, {1, 2}),
    ({0.0}, {-0.0}),
    ({(1,)}, {(True,)}),
    ({frozenset({1})}, {frozenset({True})}),
    ({(1, NAN)}, {(True, OTHER_NAN)}),
    ({(1, NAN), NAN}, {(1, NAN), (1, OTHER_NAN)}),
    ({"red", "a"}, {Color.RED, Name("a")}),
    ({Slotted(1)}, {Slotted(True)}),
    (Slotted(1), Slotted(True)),
    (box(1, more=1), box(1, more=2)),
    (box(1, more=1), box(1, more=True)),
    (box(1, more=1), box(1)),
    (Open(held=1), Open(held=True)),
    (Open.model_validate({"held": 1, "more": 1}), Open.model_validate({"held": 1, "more": True})),
    (read(Open(held=1)), Open(held=2)),
    ({"a": 1}, OrderedDict(a=1)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": 1}, {"b": 1}),
    ({1: "a"}, {True: "a"}),
    ({"a": 1}, {"a": True}),
    (Stored([1]), Stored([1, 2])),
    (Stored([1]), Stored([True])),
    (Lone("a"), Lone("b")),
    (Lone(1), Lone(True)),
    (Sealed("a"), Sealed("b")),
    (Stamped("a"), Stamped("a")),
    (Price(0.0), Price(-0.0)),
    (Grid([1]), Grid([2])),
    (Grid([1]), Grid([1, 2])),
]


def around(value: Any) -> list[Any]:
    return [value, [value], (value,), {"k": value}, {"k": [{"in": value}]}, Rows([value])]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_alike(one: Any, other: Any) -> None:
    assert all(map(alike, around(one), around(other)))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different(one: Any, other: Any) -> None:
    assert not any(map(alike, around(one), around(other)))
    assert not any(map(alike, around(other), around(one)))


def test_plain_values_take_few_calls() -> None:
    """Results of steps are compared when they are replayed, on the worker's loop: twenty megabytes took longer than to
    record them."""
    one, other = ([{"id": n, "text": f"{n}", "score": [0.5, None]} for n in range(1000)] for _ in range(2))
    assert _calls(one, other) < 1000 * 20  # two for each of nine values, and some more


def test_plain_values_in_sets_take_next_to_none() -> None:
    one, other = ({*range(2, 1000), *map(str, range(1000)), None} for _ in range(2))
    assert _calls(one, other) < 100


def _calls(one: Any, other: Any) -> int:
    calls = 0

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        found = alike(one, other)
    finally:
        sys.setprofile(None)
    assert found
    return calls
