"""How two states differ: what is said of each kind of value, and that nothing is left out."""

from __future__ import annotations

import copy
import dataclasses
import math
from decimal import Decimal
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, PrivateAttr

import batonpass as bp
from batonpass.contracts import matching, state_types
from batonpass.contracts.alike import alike
from batonpass.contracts.codec import pack, unpack
from batonpass.contracts.diff import Change, Diff, diff


def told(old: Any, new: Any) -> list[str]:
    return list(diff(old, new).lines())


NAN = float("nan")
SAME = [
    ({"a": [1, {"b": NAN}]}, {"a": [1, {"b": math.nan}]}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}]),
    ({NAN: 1}, {float("nan"): 1}),
    ((1, frozenset({2})), (1, frozenset({2}))),
]


@pytest.mark.parametrize(("old", "new"), SAME)
def test_what_is_the_same(old: Any, new: Any) -> None:
    assert not diff(old, new)
    assert diff(old, new) == Diff()


CHANGED = [
    ({"a": 1}, {"a": 2}, ["~ state['a']: 1 -> 2"]),
    ({"a": 1}, {"a": True}, ["~ state['a']: 1 -> True"]),
    ({"a": 1}, {"a": 1.0}, ["~ state['a']: 1 -> 1.0"]),
    ({"a": (1,)}, {"a": [1]}, ["~ state['a']: (1,) -> [1]"]),
    ({"a": Decimal("1.0")}, {"a": Decimal("1.00")}, ["~ state['a']: Decimal('1.0') -> Decimal('1.00')"]),
    ({1: "a"}, {True: "a"}, ["- state[1]: 'a'", "+ state[True]: 'a'"]),
    ({"a": None}, {}, ["- state['a']: None"]),
    ({}, {("k", 1): 0}, ["+ state[('k', 1)]: 0"]),
    ([1, 2], [1, 2, 3, 4], ["+ state[2]: 3", "+ state[3]: 4"]),
    ([1, 2], [0, 1, 2], ["+ state[0]: 0"]),
    ([1, 2, 3, 4], [1, 4], ["- state[1]: 2", "- state[2]: 3"]),
    ([1, 2, 3], [1, 9, 3], ["~ state[1]: 2 -> 9"]),
    ([[1], [2]], [[0], [1], [2, 3]], ["+ state[0]: [0]", "+ state[2][1]: 3"]),
    ({"t": {1, 2}}, {"t": {2, 3}}, ["- state['t']{1}: 1", "+ state['t']{3}: 3"]),
    ("text", ["text"], ["~ state: 'text' -> ['text']"]),
    ({"a": {"x": 1}}, {"a": [1]}, ["~ state['a']: {'x': 1} -> [1]"]),
]


@pytest.mark.parametrize(("old", "new", "lines"), CHANGED)
def test_what_changed(old: Any, new: Any, lines: list[str]) -> None:
    assert told(old, new) == lines


def test_values_come_with_their_paths() -> None:
    found = diff({"messages": [{"text": "a"}], "n": 1}, {"messages": [{"text": "b"}, {"text": "c"}], "m": 2})
    assert found.changed == (Change("state['messages'][0]['text']", "a", "b"),)
    assert found.added == (Change("state['m']", new=2), Change("state['messages'][1]", new={"text": "c"}))
    assert found.removed == (Change("state['n']", old=1),)


def said(text: str, name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "role": "user", "text": text, "created_at": hash(name), **more}


ALIGNED = [
    # The same conversation in two runs, one of which has a message more. Messages have other ids in each run.
    (
        [said("hi", "a"), said("bye", "b")],
        [said("hi", "c"), said("and?", "d"), said("bye", "e")],
        {"+[1]", "~[0]['id']", "~[0]['created_at']", "~[2]['id']", "~[2]['created_at']"},
    ),
    # Edited messages keep their ids.
    (
        [said("hi", "a"), said("bye", "b")],
        [said("oh", "x"), said("bye!", "b")],
        {"~[0]['id']", "~[0]['text']", "~[0]['created_at']", "~[1]['text']"},
    ),
    (
        [said("", "a", calls=[{"name": "f", "id": "1"}]), said("x", "b", call_id="1")],
        [said("", "c", calls=[{"name": "f", "id": "2"}])],
        {"-[1]", "~[0]['id']", "~[0]['created_at']", "~[0]['calls'][0]['id']"},
    ),
    ([{"id": 1, "n": 1}, {"id": 2, "n": 2}], [{"id": 2, "n": 5}], {"-[0]", "~[0]['n']"}),
    # What is inside of an item that has moved.
    (
        [{"id": 1, "gone": {2}, "in": [{"id": 8}, {"id": 9, "gone": 5}]}],
        [{"id": 0}, {"id": 1, "come": 6, "gone": {3}, "in": [{"id": 9}]}],
        {"+[0]", "-[0]['gone']{2}", "+[1]['gone']{3}", "-[0]['in'][0]", "-[0]['in'][1]['gone']", "+[1]['come']"},
    ),
]


@pytest.mark.parametrize(("old", "new", "places"), ALIGNED)
def test_what_belongs_together_in_lists(old: Any, new: Any, places: set[str]) -> None:
    found = diff(old, new)
    kinds = {"-": found.removed, "+": found.added, "~": found.changed}
    told = {f"{sign}{each.path.removeprefix('state')}" for sign, changes in kinds.items() for each in changes}
    assert told == places


class Note(BaseModel):
    text: str
    tags: list[str] = []


@dataclasses.dataclass
class Point:
    x: int
    y: int


def test_fields_of_models_and_dataclasses() -> None:
    assert told([Note(text="a"), Point(1, 2)], [Note(text="b", tags=["t"]), Point(1, 3)]) == [
        "+ state[0].tags[0]: 't'",
        "~ state[0].text: 'a' -> 'b'",
        "~ state[1].y: 2 -> 3",
    ]


@bp.state_type("test_diff.open")
class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    text: str = ""
    _seen: int = PrivateAttr(0)

    @cached_property
    def length(self) -> int:
        """A cached value, which no state keeps."""
        return len(self.text)


@bp.state_type("test_diff.order")
@dataclasses.dataclass(frozen=True)
class Order:
    held: Any


def test_what_is_stored_beside_the_fields() -> None:
    old, new = (Open.model_validate(extra) for extra in ({"rank": 1, "old": 2}, {"rank": 3, "new": 4}))
    read, seen, noted = Open(), Open(), Order(1)
    assert read.length == 0
    seen._seen = 2
    noted.__dict__["note"] = "x"
    assert told([old, Open(), Order(1)], [new, seen, noted]) == [
        "- state[0].old: 2",
        "+ state[0].new: 4",
        "+ state[2].note: 'x'",
        "~ state[0].rank: 1 -> 3",
        "~ state[1]._seen: 0 -> 2",
    ]
    assert not diff(Open(), read)


def test_values_of_types_that_this_process_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = [pack({"o": Order({"n": Open(text=text)}), "s": {Order(text)}}) for text in ("a", "b")]
    for name, kind in (("test_diff.open", Open), ("test_diff.order", Order)):
        monkeypatch.delitem(state_types._by_name, name)
        monkeypatch.delitem(state_types._by_class, kind)
    found = diff(*map(unpack, packed))
    path = "state['o'].held['n'].text"
    assert found.changed == (Change(path, "a", "b"),)
    [[gone], [come]] = found.removed, found.added
    assert [gone.old.value, come.new.value] == [{"held": "a"}, {"held": "b"}]


def test_long_texts_are_shown_where_they_differ() -> None:
    [line] = told("x" * 500 + "a" + "y" * 500, "x" * 500 + "b" + "y" * 500)
    assert line.startswith("~ state: ...xxxx")
    assert "xa" in line
    assert "xb" in line
    assert len(line) < 230


def test_values_that_no_store_would_take() -> None:
    thing = object()
    assert not diff([thing], [thing])
    assert len(diff([thing], [object()]).changed) == 1


def test_numbers_that_python_does_not_write() -> None:
    """Their digits, more than 4300, would take long."""
    [line] = diff({"n": 1}, {"n": 10**5000}).lines()
    assert line == "~ state['n']: 1 -> <int with a very large number>"


def test_deep_and_long_states() -> None:
    deep: Any = 0
    for _ in range(400):
        deep = [deep]
    other = copy.deepcopy(deep)
    at = other
    for _ in range(399):
        at = at[0]
    at[0] = 1
    assert diff(deep, other).changed == (Change("state" + "[0]" * 400, 0, 1),)
    many = [{"n": n} for n in range(20_000)]
    assert len(diff(many, [{"n": -n} for n in range(20_000)]).changed) == 19_999


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.sampled_from("abc"),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=20,
)


@given(plain, plain)
def test_nothing_is_said_only_where_nothing_differs(old: Any, new: Any) -> None:
    assert not diff(old, copy.deepcopy(old))
    if not diff(old, new):
        assert alike(ordered(old), ordered(new))


things = st.recursive(
    st.integers(0, 3) | st.sampled_from("ab"),
    lambda inner: (
        st.lists(st.dictionaries(st.sampled_from(["id", "text", "in"]), inner, max_size=3), max_size=4)
        | st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from("ab") | st.integers(0, 2), inner, max_size=3)
        | st.builds(Order, inner)
    ),
    max_leaves=25,
)


@given(things, things)
def test_each_path_is_a_place_in_its_state(old: Any, new: Any) -> None:
    found = diff(old, new)
    for state, each, value in [
        *[(old, each, each.old) for each in found.removed],
        *[(new, each, each.new) for each in (*found.added, *found.changed)],
    ]:
        assert alike(eval(each.path, {"state": state}), value)


def ordered(value: Any) -> Any:
    """With the keys of dicts sorted, since their order does not count."""
    if isinstance(value, dict):
        return {key: ordered(value[key]) for key in sorted(value)}
    return [ordered(item) for item in value] if isinstance(value, list) else value


def made_from(old: list[Any], found: Diff, length: int) -> list[Any]:
    """What a list of plain values becomes if the changes are applied to it."""

    def at(path: str) -> int:
        return int(path.removeprefix("state[").removesuffix("]"))

    gone = {at(change.path) for change in found.removed}
    come = {at(change.path): change.new for change in found.added}
    changed = {at(change.path): change.new for change in found.changed}
    kept = iter([item for place, item in enumerate(old) if place not in gone])
    made: list[Any] = []
    for place in range(length):
        item = come[place] if place in come else next(kept)
        made.append(changed.get(place, item))
    assert not list(kept)
    return made


numbers = st.lists(st.integers(0, 4), max_size=12)


@given(numbers, numbers, st.sampled_from([matching._MOST, 9]))
def test_a_list_can_be_made_from_what_is_said(old: list[int], new: list[int], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_MOST", limit)  # longer lists are split first
        found = diff(old, new)
    assert made_from(old, found, len(new)) == new


def values_told(found: Diff) -> int:
    return len(found.removed) + len(found.added) + 2 * len(found.changed)


@given(numbers, numbers)
def test_no_fewer_values_are_the_same_than_difflib_finds(old: list[int], new: list[int]) -> None:
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    assert values_told(diff(old, new)) <= len(old) + len(new) - 2 * sum(block.size for block in blocks)


def test_a_window_that_slides_over_a_long_conversation() -> None:
    messages = [said(f"text {n}", f"m{n}") for n in range(5001)]
    found = diff(messages[:-1], messages[1:])
    assert [change.path for change in (*found.removed, *found.added, *found.changed)] == ["state[0]", "state[4999]"]


def test_two_long_runs_of_an_agent_that_polls() -> None:
    """Most of what it says repeats, and ids differ."""
    old = [said(("poll", "not yet")[n % 2], f"a{n}") for n in range(3000)]
    new = [said(("poll", "not yet", "timeout")[n % 3], f"b{n}") for n in range(3000)]
    found = diff(old, new)
    assert len(found.removed) == len(found.added) <= 1000
    assert [change.old for change in found.changed if change.path.endswith("['text']")] in ([], ["not yet"], ["poll"])


def test_scattered_edits_of_a_very_long_list() -> None:
    old = [{"id": n, "text": f"text {n}"} for n in range(30_000)]
    new = [*old[1:7000], {"id": -1, "text": ""}, *old[7000:20_000], {"id": 20_000, "text": "!"}, *old[20_001:-1]]
    assert [change.path for change in diff(old, new).removed] == ["state[0]", "state[29999]"]
    assert [change.path for change in diff(old, new).added] == ["state[6999]"]
    assert [change.path for change in diff(old, new).changed] == ["state[20000]['text']"]
