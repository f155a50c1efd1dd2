"""A saver's thread that is forked to a graph whose state can be many things at each of its levels, such as a tree of
filters."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel

from batonpass.adapters.langgraph.run.declared import Another, as_declared

if TYPE_CHECKING:
    from nowhere import Unknown  # type: ignore[import-not-found]

pytestmark = pytest.mark.capability("langgraph")


class Note(BaseModel):
    text: str


class And(TypedDict):
    op: str
    args: list[And | Not | Leaf]


class Not(TypedDict):
    op: str
    args: list[And | Not | Leaf]
    note: NotRequired[Note]


class Leaf(TypedDict):
    of: Note


class Failing(TypedDict):
    """Its last field can't be made, after all others were."""

    args: list[Failing | Making]
    of: NotRequired[Unknown]


class Making(TypedDict):
    args: list[Failing | Making]
    of: NotRequired[dict[str, int]]


class Nested:
    """As `type Nested = list[Nested] | tuple[Nested, ...] | Note` of Python 3.12."""

    @property
    def __value__(self) -> Any:
        each: Any = self
        return list[each] | tuple[each, ...] | Note


def _levels(value: Any, around: Callable[[Any], Any]) -> Any:
    """A value in twenty levels, given what makes the one around a level."""
    for _ in range(20):
        value = around(value)
    return value


def _args(of: Any) -> Any:
    return {"op": "x", "args": [of]}


def _args_and_of(of: Any) -> Any:
    return {"args": [of], "of": {"a": 1}}


@pytest.mark.parametrize(
    ("value", "hint", "made"),
    [
        (_levels({"of": {"nope": 1}}, _args), And | Not | Leaf, None),
        (_levels({"of": {"text": "a"}}, _args), And | Not | Leaf, _levels({"of": Note(text="a")}, _args)),
        (_levels({"args": []}, _args_and_of), Failing | Making, _levels({"args": []}, _args_and_of)),
        (_levels({"nope": 1}, lambda of: [of]), Nested(), None),
        (_levels({"text": "a"}, lambda of: [of]), Nested(), _levels(Note(text="a"), lambda of: [of])),
    ],
)
def test_it_takes_no_time(value: Any, hint: Any, made: Any) -> None:
    """Each level tried all that it can be for each that the level around it tried: a million times at this depth."""
    began = time.perf_counter()
    with nullcontext() if made else pytest.raises(Another):
        assert as_declared(value, hint) == made
    assert time.perf_counter() - began < 1


def test_equal_parts_are_made_of_their_own() -> None:
    """The graph may change one of them in place."""
    first, second = as_declared([{"of": {"text": "a"}}, {"of": {"text": "a"}}], list[And | Leaf])
    assert first == second
    assert first["of"] is not second["of"]
