"""Arguments whose classes make sets of models, in all forms that come to mind: each form of a field, in which a list's
order counts or not, beside each way in which a class makes such a set. As a program it prints their digests."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar, cast

from pydantic import (
    AnyUrl,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    RootModel,
    SerializeAsAny,
    WrapSerializer,
    computed_field,
    field_serializer,
    model_serializer,
)
from pydantic.dataclasses import dataclass
from typing_extensions import TypeAliasType, TypedDict

from batonpass import State
from batonpass.workers.context.arguments import digest_of

T = TypeVar("T")
Form: TypeAlias = tuple[Any, Callable[[list[str]], Any]]
"""How a field is declared, and its value made of a list."""
NAMES = "uvwxyz"
ROWS = (["a", "c", "b", "d"], ["c", "a", "d", "b"], ["a", "c", "b", "e"])
AS_SET: Any = PlainSerializer(lambda row: {*row})


class Step(BaseModel, frozen=True):
    name: str


def steps() -> set[Step]:
    return {Step(name=name) for name in NAMES}


class Making(BaseModel):
    @computed_field  # type: ignore[prop-decorator]
    @property
    def steps(self) -> set[Step]:
        return steps()


# How a class makes a set of models beside a field.


class Computed(Making, Generic[T]):
    x: T


@dataclasses.dataclass(frozen=True)
class Label:
    name: str


class Labelled(BaseModel, Generic[T]):
    x: T

    @computed_field  # type: ignore[prop-decorator]
    @property
    def labels(self) -> frozenset[Label]:
        return frozenset(map(Label, NAMES))


class Written(BaseModel, Generic[T]):
    x: T
    number: int = 1

    @field_serializer("number")
    def as_steps(self, _: int) -> Any:
        return {"all": [steps()]}


class Whole(BaseModel, Generic[T]):
    x: T

    @model_serializer
    def written(self) -> dict[str, Any]:
        return {"x": self.x, "steps": steps()}


class Wrapped(BaseModel, Generic[T]):
    x: T

    @model_serializer(mode="wrap")
    def written(self, handler: Callable[[Any], Any]) -> Any:
        return {**handler(self), "steps": steps()}


class Nested(BaseModel, Generic[T]):
    x: T
    plans: dict[int, tuple[Making, ...]] = {1: (Making(), Making())}


class Inside(BaseModel, Generic[T]):
    inner: Wrapped[T]
    more: Inside[T] | None = None


class Aliased(Making, Generic[T]):
    model_config = ConfigDict(serialize_by_alias=True)
    x: T = Field(serialization_alias="X")


class Dumped(Making, Generic[T]):
    """Written for other readers in its own way."""

    x: T = Field(serialization_alias="X")
    note: str | None = None

    def model_dump_json(self, **options: Any) -> str:
        options["by_alias"] = True
        return super().model_dump_json(**options)


class Short(Making, Generic[T]):
    x: T
    note: str | None = None

    def model_dump_json(self, **options: Any) -> str:
        options["exclude_none"] = True
        return super().model_dump_json(**options)


class Held(Making, Generic[T]):
    x: T
    held: frozenset[Step] = frozenset(steps())
    of: Any = [steps()]


class Kept(BaseModel, Generic[T]):
    x: T
    tags: set[str] = {"a", "b"}

    @computed_field  # type: ignore[prop-decorator]
    @cached_property
    def row(self) -> list[str]:
        return list(self.tags | {*NAMES})


# Fields in which the order of a list counts.


class Sequences(RootModel[Sequence[str]]):
    pass


class Rows(RootModel[dict[str, list[str]]]):
    pass


class Entries(TypedDict):
    row: Sequence[str]


Alias = TypeAliasType("Alias", "list[Sequence[str]]")


class Pair(NamedTuple):
    row: list[str]
    of: Any


@dataclasses.dataclass
class Plain:
    row: list[str]
    of: Any = None


@dataclass
class Costed:
    row: list[str]
    amount: float = 1

    @field_serializer("amount")
    def written(self, value: float) -> str:
        return f"{value:.2f}"


class Own(BaseModel):
    row: list[str] = Field(serialization_alias="Row")

    @model_serializer(mode="wrap")
    def written(self, handler: Callable[[Any], Any]) -> Any:
        return handler(self)


class One(Making):
    kind: Literal["one"] = "one"
    row: list[str]


class Two(Making):
    kind: Literal["two"] = "two"
    row: list[str]
    more: int = 1


class More(One):
    more: str = "more"


class Tree(Making):
    name: str = ""
    branches: Sequence[Tree] = ()


class Leg(BaseModel, frozen=True):
    route: tuple[str, ...]
    tags: frozenset[Step] = frozenset()


class Legs(BaseModel):
    routes: list[list[str]]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def legs(self) -> set[Leg]:
        return {Leg(route=tuple(route)) for route in self.routes}

    @field_serializer("routes")
    def as_legs(self, routes: list[list[str]]) -> set[Leg]:
        return {Leg(route=tuple(route), tags=frozenset(steps())) for route in routes}


def days(row: list[str]) -> Any:
    return [dt.date(2031, 1, 1 + ord(each) - ord("a")) for each in row]


ORDERED: dict[str, Form] = {
    "list": (list[str], list),
    "sequence": (Sequence[str], list),
    "maybe": (Sequence[str] | None, list),
    "of sequences": (list[Sequence[str]], lambda row: [row]),
    "tuple": (tuple[str, ...], tuple),
    "deque": (deque[str], deque),
    "urls": (list[AnyUrl], lambda row: [AnyUrl(f"https://{each}.example") for each in row]),
    "mapping": (Mapping[str, Sequence[str]], lambda row: {"k": row}),
    "ordered dict": (OrderedDict[str, list[str]], lambda row: OrderedDict[str, list[str]](k=row)),
    "default dict": (defaultdict[int, list[str]], lambda row: defaultdict(list, {1: row})),
    "root": (Sequences, Sequences),
    "roots": (list[Rows], lambda row: [Rows({"k": row})]),
    "typed dict": (Entries, lambda row: {"row": row}),
    "alias": (Alias, lambda row: [row]),
    "named tuple": (Pair, lambda row: Pair(row, Making())),
    "dataclass": (Plain, Plain),
    "dataclass that makes some": (Any, lambda row: Plain(row, [steps()])),
    "pydantic's dataclass": (Costed, Costed),
    "own": (list[Own], lambda row: [Own(row=row)]),
    "union": (One | Two, lambda row: Two(row=row)),
    "union of families": (One | More, lambda row: More(row=row)),
    "told apart": (Annotated[One | Two, Field(discriminator="kind")], lambda row: One(row=row)),
    "subclass": (list[One], lambda row: [More(row=row)]),
    "as any": (SerializeAsAny[One], lambda row: More(row=row)),
    "recursive": (Tree, lambda row: Tree(branches=[Tree(name=each) for each in row])),
    "any": (Any, lambda row: [One(row=row), {"k": (row, steps())}]),
    "object": (object, lambda row: One(row=row)),
    "state": (State, lambda row: State(row=row, made=One(row=row))),
    "legs": (Legs, lambda row: Legs(routes=[row])),
    "for json": (Annotated[Any, WrapSerializer(lambda row, h: [each[:10] for each in h(row)])], days),
}

# Fields of which sets are made.


class Entry(TypedDict):
    row: Annotated[list[str], AS_SET]


AliasOfSet = TypeAliasType("AliasOfSet", Annotated[list[str], AS_SET])


@dataclasses.dataclass
class PlainOfSet:
    row: Annotated[list[str], AS_SET]


@dataclass
class CostedOfSet:
    row: list[str]

    @field_serializer("row")
    def written(self, row: list[str]) -> set[Step]:
        return {Step(name=each) for each in row}


class OfSet(BaseModel):
    row: Annotated[list[str], AS_SET]
    next: OfSet | None = None


class Sorted(BaseModel):
    row: list[str]

    @field_serializer("row", mode="wrap")
    def written(self, row: list[str], handler: Callable[[Any], Any]) -> Any:
        return sorted(handler(row))


UNORDERED: dict[str, Form] = {
    "set": (set[str], set),
    "frozen": (frozenset[str] | None, frozenset),
    "serialized": (Annotated[list[str], AS_SET], list),
    "models": (Annotated[Any, PlainSerializer(lambda row: {Step(name=each) for each in row})], list),
    "typed dicts": (list[Entry], lambda row: [{"row": row}, {"row": row}]),
    "aliases": (tuple[AliasOfSet, AliasOfSet], lambda row: (row, row)),
    "dataclasses": (list[PlainOfSet], lambda row: [PlainOfSet(row), PlainOfSet(row)]),
    "pydantic's dataclasses": (list[CostedOfSet], lambda row: [CostedOfSet(row)]),
    "recursive": (OfSet, lambda row: OfSet(row=row, next=OfSet(row=row))),
    "any": (Any, lambda row: [OfSet(row=row), {"k": {*row}}, CostedOfSet(row)]),
    "union": (Step | OfSet, lambda row: OfSet(row=row)),
    "as any": (SerializeAsAny[BaseModel], lambda row: OfSet(row=row)),
    "sorted": (Sorted, lambda row: Sorted(row=row)),
    "state": (State, lambda row: State(row={*row}, made=OfSet(row=row))),
}

BESIDE = (
    Computed, Labelled, Written, Whole, Wrapped, Nested, Inside, Aliased, Dumped, Short, Held, Kept,
)  # fmt: skip
NOT_WHOLE = {"deque", "serialized", "models", "typed dicts", "aliases", "dataclasses"}
"""What is nothing in particular, or not even JSON, without its declaration."""


def beside(maker: Any, kind: Any, x: Any) -> BaseModel:
    """A model that has the field, and makes a set of models."""
    if maker is Inside:
        return Inside[kind](inner=Wrapped[kind](x=x), more=Inside[kind](inner=Wrapped[kind](x=x)))
    return cast("BaseModel", maker[kind](x=x))


def pairs(forms: Mapping[str, Form], every: int = 1) -> Iterator[tuple[str, Callable[[list[str]], BaseModel]]]:
    """Each form of a field beside every so manyth way to make sets."""
    for number, (form, (kind, make)) in enumerate(forms.items()):
        for maker in BESIDE[number % every :: every]:
            if maker is not Whole or form not in NOT_WHOLE:
                yield f"{form}, {maker.__name__}", partial(_made, maker, kind, make)


def _made(maker: Any, kind: Any, make: Callable[[list[str]], Any], row: list[str]) -> BaseModel:
    return beside(maker, kind, make(row))


def digests(forms: Mapping[str, Form], every: int = 1) -> dict[str, list[str]]:
    """Of a field with a list, with the same in another order, and with another list."""
    return {name: [digest_of([make(row)]).hex() for row in ROWS] for name, make in pairs(forms, every)}


if __name__ == "__main__":
    json.dump([digests(forms, *map(int, sys.argv[1:])) for forms in (ORDERED, UNORDERED)], sys.stdout)
