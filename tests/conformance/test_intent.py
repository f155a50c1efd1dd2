"""The same submit by two routes: with the contract's class, and with what the store has recorded about the agent."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import Field, computed_field

import batonpass as bp
from tests.harness.bench import Bench


class Line(bp.Contract, name="intent.line"):
    item: str
    count: float = 1


class Cat(bp.Contract, name="intent.cat"):
    name: str = "Tom"


class Dog(bp.Contract, name="intent.dog"):
    name: str = "Tom"
    loud: bool = True


class Parcel(bp.Contract, name="intent.parcel"):
    weight: int = Field(alias="weightInGrams")
    place: str = Field(default="shelf", validation_alias="storedAt")


class Order(bp.Contract, name="intent.order"):
    text: str
    lang: str = "en"
    flag: int | bool = 1
    lines: list[Line] = Field(default=[])
    by_name: dict[str, Line] = Field(default={})
    first: Line | None = None
    pet: Cat | Dog = Cat()
    parcels: list[Parcel] = Field(default=[], alias="sentAs")
    tags: list[str] = Field(default_factory=list)
    kinds: set[str] = Field(default=set())
    id: UUID = Field(default_factory=uuid4)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def size(self) -> int:
        return len(self.lines)


APP = bp.App("intent")


@APP.agent("take", accepts=Order, returns=Order)
def take(order: Order) -> Order:
    return order


@APP.agent("keep", accepts=bp.State, returns=bp.State)
def keep(state: bp.State) -> bp.State:
    return state


_SAME: dict[str, tuple[Order, dict[str, Any]]] = {
    "defaults": (Order(text="a"), {"text": "a"}),
    "defaults that are said": (Order(text="a"), {"tags": [], "lang": "en", "first": None, "text": "a", "lines": []}),
    "numbers": (Order(text="a", lines=[Line(item="x", count=3)]), {"text": "a", "lines": [{"count": 3, "item": "x"}]}),
    "inside of lists": (Order(text="a", lines=[Line(item="x")]), {"text": "a", "lines": [{"item": "x"}]}),
    "inside of dicts": (Order(text="a", by_name={"b": Line(item="x")}), {"text": "a", "by_name": {"b": {"item": "x"}}}),
    "optional": (Order(text="a", first=Line(item="x")), {"text": "a", "first": {"item": "x"}}),
    "aliases": (
        Order(text="a", sentAs=[Parcel(weightInGrams=3)]),
        {"text": "a", "sentAs": [{"weightInGrams": 3, "storedAt": "shelf"}]},
    ),
    "names": (
        Order(text="a", sentAs=[Parcel.model_validate({"weightInGrams": 3, "storedAt": "door"})]),
        {"text": "a", "parcels": [{"weight": 3, "place": "door"}]},
    ),
    "names and aliases": (
        Order(text="a", sentAs=[Parcel.model_validate({"weightInGrams": 3, "storedAt": "door"})]),
        {"text": "a", "parcels": [{"weightInGrams": 3, "place": "door"}]},
    ),
    "sets": (Order(text="a", kinds=set("xyz")), {"text": "a", "kinds": ["z", "x", "y"]}),
    "one of several": (Order(text="a", pet=Dog()), {"text": "a", "pet": {"loud": True, "name": "Tom"}}),
}


@pytest.mark.parametrize(("made", "given"), _SAME.values(), ids=_SAME)
@pytest.mark.parametrize("order", [1, -1])
def test_it_is_the_same_job(bench: Bench, made: Order, given: dict[str, Any], order: int) -> None:
    bench.run(bench.face(APP).declare(APP))
    routes: list[tuple[bp.App, object]] = [(APP, made), (bp.App("stranger"), given), (APP, given)]
    jobs = {bench.run(bench.face(app).submit("take", payload, key="k")).id for app, payload in routes[::order]}
    assert len(jobs) == 1


_OTHER: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"lang": "fr"}),
    ({}, {"flag": True}),  # == 1, the default
    ({}, {"tags": ["x"]}),
    ({}, {"first": {"item": "x"}}),
    ({"sentAs": [{"weightInGrams": 3}]}, {"sentAs": [{"weightInGrams": 3, "storedAt": "door"}]}),
    ({"lines": [{"item": "x"}]}, {"lines": [{"item": "x", "count": 2}]}),
    ({"lines": [{"item": "x"}, {"item": "y"}]}, {"lines": [{"item": "y"}, {"item": "x"}]}),
    ({"pet": {"name": "Tom"}}, {"pet": {"name": "Tom", "loud": True}}),
    ({"id": str(UUID(int=1))}, {"id": str(UUID(int=2))}),
]


@pytest.mark.parametrize(("first", "second"), _OTHER)
@pytest.mark.parametrize("apps", [(APP, APP), (bp.App("stranger"), APP), (bp.App("stranger"), bp.App("stranger"))])
def test_it_is_another_payload(
    bench: Bench, first: dict[str, Any], second: dict[str, Any], apps: tuple[bp.App, bp.App]
) -> None:
    bench.run(bench.face(APP).declare(APP))
    one, two = (bench.face(app) for app in apps)
    job = bench.run(one.submit("take", {"text": "a", **first}, key="k"))
    with bench.refused(bp.KeyConflict, job.id):
        bench.run(two.submit("take", {"text": "a", **second}, key="k"))


def test_an_id_that_is_made_anew_is_nobodys_word(bench: Bench) -> None:
    """A program that was killed after its submit builds the payload again, and gets another id from its contract."""
    face = bench.face(APP)
    first = bench.run(face.submit(take, Order(text="a"), key="k"))
    assert bench.run(face.submit(take, Order(text="a"), key="k")).id == first.id
    with bench.refused(bp.KeyConflict):
        bench.run(face.submit(take, Order(text="a", id=uuid4()), key="k"))


def test_a_state_in_another_order(bench: Bench) -> None:
    face = bench.face(APP)
    first = bench.run(face.submit("keep", {"a": 1, "b": [{"x": 1, 2: 3}]}, key="k"))
    assert bench.run(face.submit("keep", bp.State(b=[{2: 3, "x": 1}], a=1), key="k")).id == first.id
    with bench.refused(bp.KeyConflict):
        bench.run(face.submit("keep", {"a": 1.0, "b": [{"x": 1, 2: 3}]}, key="k"))


def test_a_state_deeper_than_python_calls(bench: Bench) -> None:
    deep: Any = "end"
    for _ in range(900):
        deep = [deep]
    face = bench.face(APP)
    first = bench.run(face.submit("keep", {"deep": deep}, key="k"))
    assert bench.run(face.submit("keep", {"deep": deep}, key="k")).id == first.id
