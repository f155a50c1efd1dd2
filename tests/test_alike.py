"""Alike: values that can't be told apart. `==` takes True for 1, and -0.0 for 0.0."""

from __future__ import annotations

import sys
from collections import OrderedDict
from enum import StrEnum
from types import FrameType
from typing import Any

import pytest

from batonpass.contracts.alike import alike


class Color(StrEnum):
    RED = "red"


class Name(str):
    pass


class Rows(list[Any]):
    pass


NAN, OTHER_NAN = float("nan"), float("nan")
ALIKE: list[tuple[Any, Any]] = [
    (None, None),
    (10**30, 10**30),
    (NAN, OTHER_NAN),
    ({"a": [1, {"b": NAN}], 1: (b"x", True)}, {"a": [1, {"b": OTHER_NAN}], 1: (b"x", True)}),
    ({1, 2, 3}, {3, 2, 1}),
    (Rows([1, Name("a")]), Rows([1, Name("a")])),
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
    ({"a": 1}, OrderedDict(a=1)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": 1}, {"b": 1}),
    ({1: "a"}, {True: "a"}),
    ({"a": 1}, {"a": True}),
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
    assert calls < 1000 * 20  # two for each of nine values, and some more
