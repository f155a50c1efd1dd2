"""Sets in arguments are in another order in each process, wherever they are: a job whose worker died was parked by the
next one, because its step was called "with other arguments"."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import pytest
from pydantic import BaseModel, Field, computed_field, field_serializer, model_serializer

import batonpass as bp
from batonpass.workers.context.arguments import digest_of


class Colour(Enum):
    """What JSON writes and the codec does not."""

    RED = "red"
    BLUE = "blue"
    GREEN = "green"

    def __hash__(self) -> int:
        return 0  # so that the order in a set is the one in which it was filled


@dataclass(frozen=True)
class Label:
    of: Any

    def __hash__(self) -> int:
        return 0


class Order(bp.Contract, name="ordered_sets.order"):
    of: Any = None


class Paint(Order, name="ordered_sets.paint"):
    of: set[Colour] = Field(default_factory=set[Colour])
    rows: deque[Any] = Field(default_factory=deque[Any])


class Counted(BaseModel):
    """Its class makes the sets."""

    names: list[Any]

    @computed_field
    def tags(self) -> set[Any]:
        return {*self.names}

    @field_serializer("names")
    def sorted_names(self, names: list[Any]) -> list[Any]:
        return sorted(names, key=str)


class Written(BaseModel):
    names: list[Any]
    rest: tuple[Any, ...] = ()

    @model_serializer
    def written(self) -> dict[str, Any]:
        return {"set": {*self.names}, "row": self.rest}


class Spread(BaseModel):
    """Its class makes lists of its sets."""

    tags: set[int]

    @field_serializer("tags")
    def row(self, tags: set[int]) -> list[int]:
        return list(tags)

    @computed_field
    def label(self) -> str:
        return ",".join(map(str, self.tags))


class Kept(Order, name="ordered_sets.kept"):
    """Has made a list of its set before."""

    of: set[int]

    @computed_field  # type: ignore[prop-decorator]
    @cached_property
    def row(self) -> list[int]:
        return list(self.of)


def kept(row: Sequence[int]) -> Kept:
    made = Kept(of={*row})
    assert len(made.row) == len(row)
    return made


class Branch(BaseModel):
    """Knows what it belongs to, which JSON leaves out."""

    tags: Any
    parent: Any = Field(default=None, exclude=True)
    branches: Any = ()


COLOURS = (Colour.RED, Colour.BLUE, Colour.GREEN)
MADE: dict[str, tuple[Callable[[Sequence[Any]], Any], Sequence[Any]]] = {
    "enums": (lambda row: Order(of={*row}), COLOURS),
    "typed": (lambda row: Paint(of={*row}), COLOURS),
    "in a deque": (lambda row: Paint(rows=deque([{*row}, {1}])), COLOURS),
    "of sets": (lambda row: Order(of={frozenset(row), frozenset({1})}), [0, 8, 16]),
    "of one set": (lambda row: Order(of={frozenset(row)}), [0, 8, 16]),
    "in tuples": (lambda row: Order(of={(1, frozenset(row)), (2, frozenset(row))}), COLOURS),
    "of dataclasses": (lambda row: Order(of={*map(Label, row)}), [1, 2, 3]),
    "in dataclasses": (lambda row: Order(of={Label(frozenset(row)), Label(frozenset({1}))}), [0, 8, 16]),
    "computed": (lambda row: Counted(names=list(row)), COLOURS),
    "computed, of objects": (lambda row: Counted(names=[Label(one) for one in row]), [1, 2, 3]),
    "returned": (lambda row: Order(of=[Written(names=list(row))]), COLOURS),
    "kept": (kept, [0, 8, 16]),
    "spread": (lambda row: Spread(tags={*row}), [0, 8, 16]),
    "of models that return them": (lambda row: Paint(rows=deque([{*row}, Counted(names=list(row))])), COLOURS),
}


@pytest.mark.parametrize("kind", MADE)
def test_the_order_does_not_count(kind: str) -> None:
    make, row = MADE[kind]
    digests = {digest_of([make(each)]) for each in (row, row[::-1], [*row[1:], row[0]])}
    assert len(digests) == 1
    assert digest_of([make(row[:2])]) not in digests


def test_the_order_of_what_is_beside_them_counts() -> None:
    assert digest_of([Order(of=[{*COLOURS}, [1, 2]])]) != digest_of([Order(of=[{*COLOURS}, [2, 1]])])
    one, other = (Written(names=[*COLOURS], rest=rest) for rest in ((1, 2), (2, 1)))
    assert digest_of([one]) != digest_of([other])


class Own(BaseModel):
    """Its class writes it for other readers in its own way."""

    row: list[int]

    def model_dump(self) -> dict[str, Any]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return {"sum": sum(self.row)}


def test_a_class_that_writes_itself() -> None:
    assert digest_of([Own(row=[1, 2])]) == digest_of([Own(row=[1, 2]).model_dump_json()])
    assert digest_of([Own(row=[1, 2])]) != digest_of([Own(row=[2, 1])])


class Known(BaseModel):
    """What its class makes of its set can't be had of a list."""

    tags: set[str]

    @computed_field  # type: ignore[prop-decorator]
    @cached_property
    def known(self) -> int:
        return len(self.tags & {"a", "b"})


class Short(BaseModel):
    """It writes what is set."""

    tags: set[str] = {"b", "a"}
    other: int = 1

    def model_dump_json(self, **options: Any) -> str:
        return super().model_dump_json(exclude_unset=True, **options)


def test_a_set_that_was_not_given_counts_as_set() -> None:
    assert digest_of([Short()]) == digest_of(['{"tags":["a","b"]}'])


class Tag(BaseModel, frozen=True):
    name: str


class Tagged(BaseModel):
    order: list[str]
    tags: frozenset[Tag]


@pytest.mark.parametrize("dumped", [False, True])
def test_what_a_class_makes_of_sets_only(dumped: bool) -> None:
    given = Known(tags={"c", "b", "a"})
    if dumped:
        given.model_dump()
    assert digest_of([given]) == digest_of(['{"tags":["a","b","c"],"known":2}'])


def test_lists_beside_a_set_of_models_keep_their_order() -> None:
    """Python has no sets of dicts, so such a model has no dump but its JSON."""
    for names in ({"k"}, {"k", "l"}):
        one, other = (
            Tagged(order=order, tags=frozenset(Tag(name=name) for name in names))
            for order in (["pay", "ship"], ["ship", "pay"])
        )
        assert digest_of([one]) != digest_of([other])
    given = Tagged(order=["pay", "ship"], tags=frozenset({Tag(name="k")}))
    assert digest_of([given]) == digest_of([given.model_dump_json()])


def family(make: Callable[[Sequence[int]], Any], row: Sequence[int]) -> Order:
    child = Branch(tags=make(row))
    child.parent = root = Branch(tags=make([1, 2]), branches=[child])
    return Order.model_construct(of=[child, root])


def relations(row: Sequence[int]) -> Order:
    """Sets of those that know each other."""
    labels = [Label(Branch(tags={*row}, parent=[])) for _ in row]
    for one, label in zip(row, labels, strict=True):
        label.of.parent.extend([*labels, set(labels)])
        label.of.branches = [one]
    return Order.model_construct(of={*labels})


def in_a_tuple(row: Sequence[int]) -> Any:
    return [{(1, frozenset(row))}]


@pytest.mark.parametrize("make", [set[int], frozenset[int], in_a_tuple])
def test_models_that_know_each_other(make: Callable[[Sequence[int]], Any]) -> None:
    """What JSON leaves out of one may be written elsewhere."""
    assert digest_of([family(make, [0, 8])]) == digest_of([family(make, [8, 0])])
    assert digest_of([family(make, [0, 8])]) != digest_of([family(make, [0, 9])])


def test_sets_of_what_knows_each_other() -> None:
    assert digest_of([relations([0, 8, 16])]) == digest_of([relations([16, 8, 0])])
    assert digest_of([relations([0, 8, 16])]) != digest_of([relations([0, 8, 17])])


@pytest.mark.parametrize(
    ("given", "recorded"),
    [
        (Order(of={"b", "aa", "c"}), "2ed46cdcf5e8136e8fe299349477aa66"),
        (Order(of=[{3, 10, 200}, {(2, "x"), (1, "y")}, {b"y", b"x"}]), "ed0edd6f349ff9ced189e9542e9c6223"),
        (Spread(tags={0, 8}), "3e95a868e84836a3e52ec5b5a084da5e"),
    ],
)
def test_the_digests_stay_as_they_are(given: Any, recorded: str) -> None:
    """The last release had these."""
    assert digest_of([given]).hex() == recorded
