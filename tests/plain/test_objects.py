"""Objects inside objects, of every kind of class, come back whole or are refused."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, ConfigDict

import batonpass as bp
from batonpass.adapters.plain import Checkpointable, Keeper, register_migration, rollback


class Part(Checkpointable):
    def __init__(self, name: str = "", inside: Any = None) -> None:
        self.name = name
        self.inside = inside
        self._client: Any = None


def moved(obj: Any, into: Any) -> Any:
    """`into` with the state of `obj`, which went through a store."""
    with Keeper("memory://") as keeper:
        keeper.save(obj, "k")
        keeper.load(into, "k")
    return into


def test_objects_lie_in_lists_tuples_and_dicts() -> None:
    whole = Part("a", [Part("b"), (Part("c"),), {"d": Part("d"), (1,): Part("e")}])
    found = moved(whole, Part()).inside
    assert [found[0].name, found[1][0].name, found[2]["d"].name, found[2][(1,)].name] == ["b", "c", "d", "e"]
    assert {type(each) for each in (found[0], found[1][0], found[2]["d"])} == {Part}


def test_one_object_at_two_places_is_one_again_and_circles_close() -> None:
    child = Part("child")
    parent = Part("parent", [child, child, {"same": child}])
    child.inside = parent
    found = moved(parent, Part())
    assert found.inside[0] is found.inside[1] is found.inside[2]["same"]
    assert found.inside[0].inside is found
    assert found.inside[0] is not child


def test_two_equal_objects_stay_two() -> None:
    there = Part("", [Part("a")] * 2)
    found = moved(Part("", [Part("b"), Part("b")]), there)
    assert found.inside[0] is not found.inside[1]


def test_shared_lists_come_back_as_one_for_each_place() -> None:
    shared = [1]
    found = moved(Part("", [shared, shared]), Part())
    assert found.inside == [[1], [1]]
    assert found.inside[0] is not found.inside[1]


def test_a_list_in_itself_is_refused() -> None:
    loop: list[Any] = [1]
    loop.append({"again": loop})
    with pytest.raises(bp.Unserializable, match="contains itself") as caught:
        Part("", loop).state_dict()
    assert caught.value.path == "state['inside'][1]['again']"


def test_objects_in_sets_and_keys_are_refused() -> None:
    for inside in ({Part()}, frozenset({Part()}), {Part(): 1}):
        with pytest.raises(bp.Unserializable, match="Put it in a list"):
            Part("", [inside]).state_dict()


def test_too_deep_is_refused() -> None:
    deep = Part()
    for _ in range(2000):
        deep = Part("", deep)
    with pytest.raises(bp.Unserializable, match="too deep"):
        deep.state_dict()


def test_what_is_there_is_loaded_into_and_keeps_what_states_leave_out() -> None:
    there = Part("", [Part("x"), {"k": Part("y")}])
    kept = [there.inside[0], there.inside[1]["k"]]
    kept[0]._client = kept[1]._client = "open"
    found = moved(Part("", [Part("a"), {"k": Part("b")}, Part("c")]), there)
    assert [found.inside[0], found.inside[1]["k"]] == kept
    assert [(each.name, each._client) for each in kept] == [("a", "open"), ("b", "open")]
    assert not hasattr(found.inside[2], "_client")


def test_dicts_that_look_like_objects_are_dicts() -> None:
    inside: list[dict[str, Any]] = [
        {"__class__": "Part", "__version__": 1, "name": Part("x")},
        {"__same__": 1},
        {"__plain__": {"__id__": 1}},
    ]
    found = moved(Part("", inside), Part())
    assert found.inside[0]["name"].name == "x"
    assert found.inside[0].keys() == inside[0].keys()
    assert found.inside[1:] == inside[1:]


class Slots(Checkpointable):
    __slots__ = ("_hidden", "a", "b", "unset")

    def __init__(self) -> None:
        self.a, self.b, self._hidden = 1, [2], 3


class MoreSlots(Slots):
    __slots__ = "c"

    def __init__(self) -> None:
        super().__init__()
        self.c = 4


@dataclass
class Data(Checkpointable):
    x: int
    y: list[Any] = field(default_factory=list[Any])
    _z: int = 5

    @cached_property
    def size(self) -> int:
        return len(self.y)


@dataclass(frozen=True, slots=True)
class Frozen(Checkpointable):
    x: int
    inside: Any = None


class Model(Checkpointable, BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)
    _checkpoint_version = 2
    count: int = 0
    items: list[Any] = []
    _private: int = 7


class ModelFirst(BaseModel, Checkpointable):
    _checkpoint_fields: ClassVar[Sequence[str] | None] = ("count",)
    count: int = 0
    other: int = 0


def test_slots() -> None:
    full = MoreSlots()
    full.a, full.b, full.c, full._hidden = 10, [20], 40, 30
    found = moved(full, MoreSlots())
    assert (found.a, found.b, found.c, found._hidden, hasattr(found, "unset")) == (10, [20], 40, 3, False)
    assert not hasattr(found, "__dict__")
    clone = full.clone()
    assert (clone.a, clone.c, clone._hidden) == (10, 40, 30)


def test_dataclasses() -> None:
    data = Data(1, [Frozen(2, Data(3))], 6)
    assert data.size == 1
    assert "size" not in data.state_dict()
    found = moved(data, Data(0))
    assert found == Data(1, [Frozen(2, Data(3))])
    assert data.clone() == data
    assert copy.deepcopy(data) == data


def test_pydantic_models() -> None:
    model = Model.model_validate({"count": 1, "items": [Model(count=2)], "more": "extra"})
    assert model.state_dict()["__version__"] == 2
    found = moved(model, Model())
    assert (found, found._private, found.model_extra) == (model, 7, {"more": "extra"})
    assert type(found.items[0]) is Model
    assert found.model_fields_set == model.model_fields_set
    assert model.clone() == model
    assert ModelFirst(count=3, other=4).state_dict().keys() == {"__class__", "__version__", "count"}
    assert moved(ModelFirst(count=3, other=4), ModelFirst(other=5)) == ModelFirst(count=3, other=5)


def test_classes_that_hold_more_than_attributes_are_refused() -> None:
    with pytest.raises(bp.BadSetup, match="it is a list: keep the list in an attribute"):
        type("Stack", (list, Checkpointable), {})


class Cached(Checkpointable):
    """An object that rebuilds some values and keeps some elsewhere."""

    def __init__(self) -> None:
        self.words = ["a"]
        self.friend: Any = None
        self._index = {"a": 0}
        self._elsewhere = 0

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "elsewhere": self._elsewhere}

    def load_state_dict(self, state: dict[str, Any], *, strict: bool = True) -> None:
        self._elsewhere = state.pop("elsewhere")
        super().load_state_dict(state, strict=strict)
        self._index = {word: at for at, word in enumerate(self.words)}


def test_overrides_are_honoured_at_any_depth_also_in_circles() -> None:
    one, two = Cached(), Cached()
    one.words, one.friend, one._elsewhere = ["x", "y"], [two], 8
    two.friend, two._elsewhere = one, 9
    found = moved(one, Cached())
    assert found.friend[0].friend is found
    assert (found._index, found._elsewhere, found.friend[0]._elsewhere) == ({"x": 0, "y": 1}, 8, 9)
    again = Cached()
    again.load_state_dict(one.state_dict())
    assert (again._index, again.friend[0]._elsewhere) == ({"x": 0, "y": 1}, 9)
    one.friend = None
    assert one.clone()._elsewhere == 8
    with pytest.raises(ZeroDivisionError), rollback(one):
        one.words.append("z")
        one._elsewhere = 0
        raise ZeroDivisionError
    assert (one.words, one._elsewhere) == (["x", "y"], 8)


def test_migrations_inside_and_what_they_move() -> None:
    class Old(Checkpointable):
        _checkpoint_name = "test.moved"

        def __init__(self, first: Any = None, second: Any = None) -> None:
            self.first, self.second = first, second

    class New(Checkpointable):
        _checkpoint_name = "test.moved"
        _checkpoint_version = 2

        def __init__(self) -> None:
            self.second: Any = None

    register_migration(New, 1, lambda state: {"second": state["second"]})
    shared = Part("shared")
    state = Old(shared, [shared, shared]).state_dict()
    new = New()
    new.load_state_dict(state)
    assert new.second[0].name == "shared"
    assert new.second[0] is new.second[1]


class Team(Checkpointable):
    def __init__(self, *names: str) -> None:
        self.members: list[Any] = [Member(name) for name in names]
        self.leader = self.members[0] if names else None


class Member(Checkpointable):
    """It may grow, so a state holds it beside the list that contains it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.said: list[Any] = []


def test_objects_in_lists_that_may_grow_stand_beside_them() -> None:
    team = Team("a", "b")
    state = team.state_dict()
    assert state["members"] == [{"__same__": 1}, {"__same__": 2}]
    assert state["leader"] == {"__same__": 1}
    assert [each["name"] for each in state["__objects__"].values()] == ["a", "b"]
    there = Team("x", "y")
    kept = [*there.members]
    there.load_state_dict(state)
    assert there.members == kept
    assert [each.name for each in there.members] == ["a", "b"]
    assert there.leader is there.members[0]


def test_objects_keep_their_numbers_when_others_go_also_after_loading() -> None:
    team = Team("a", "b", "c")
    team.state_dict()
    team.leader = None
    del team.members[0]
    team.members.insert(0, Member("d"))
    state = team.state_dict()
    assert state["members"] == [{"__same__": 4}, {"__same__": 2}, {"__same__": 3}]
    assert [*state["__objects__"]] == ["2", "3", "4"]
    again = Team()
    again.load_state_dict(state)
    again.members.pop()
    again.members.append(Member("e"))
    assert again.state_dict()["members"] == [{"__same__": 4}, {"__same__": 2}, {"__same__": 5}]


def test_a_refused_value_is_named_by_its_place_in_the_object() -> None:
    team = Team("a", "b")
    team.members[1].said.append({"tool": open})
    for refused in (team.state_dict, team.clone, rollback(team).__enter__, lambda: Keeper("memory://").save(team, "k")):
        with pytest.raises(
            bp.Unserializable, match=r"^state\['members'\]\[1\]\['said'\]\[0\]\['tool'\] can't"
        ) as caught:
            refused()
        assert caught.value.path == "state['members'][1]['said'][0]['tool']"


def test_a_clone_and_a_rollback_of_what_stands_beside() -> None:
    team = Team("a", "b")
    clone = team.clone()
    clone.members[0].said.append("x")
    assert clone.leader is clone.members[0]
    assert team.members[0].said == []
    before = [*team.members]
    with pytest.raises(RuntimeError), rollback(team):
        team.members[1].said.append("y")
        team.members.reverse()
        raise RuntimeError
    assert team.members == before
    assert before[1].said == []
