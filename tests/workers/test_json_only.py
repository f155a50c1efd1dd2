"""Arguments whose classes write nothing but JSON: a payment back was taken for the payment, because their lists counted
as sets when Python's form of them was asked for and not had."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, PlainSerializer, RootModel, SerializationInfo, WrapSerializer, model_serializer

from batonpass.workers.context.arguments import digest_of, same

ASKED: list[str] = []
"""How a serializer was asked for what it writes, each time."""


def only_json(info: SerializationInfo) -> None:
    ASKED.append(info.mode)
    if not info.mode_is_json():
        raise NotImplementedError("this is never asked for, is it?")


class Step(BaseModel, frozen=True):
    number: int

    def __hash__(self) -> int:
        return 1  # so that sets keep the order in which they were made


class Transfer(BaseModel):
    accounts: list[str]
    tags: Sequence[int] = ()

    @model_serializer
    def written(self, info: SerializationInfo) -> Any:
        only_json(info)
        return {"steps": {Step(number=tag) for tag in self.tags}, "accounts": self.accounts, "tags": {*self.tags}}


class Route(RootModel[list[str]]):
    @model_serializer
    def written(self, info: SerializationInfo) -> Any:
        only_json(info)
        return [*self.root]


def row_of(parent: Branch | None, info: SerializationInfo) -> Any:
    only_json(info)
    return parent and parent.row


def row_around(parent: Branch | None, handler: Any, info: SerializationInfo) -> Any:
    return row_of(parent, info)


class Branch(BaseModel):
    """Knows what it belongs to, of which JSON has only the row."""

    row: list[str]
    branches: list[Any] = []
    parent: Annotated[Any, PlainSerializer(row_of)] = None


class Around(Branch):
    parent: Annotated[Any, WrapSerializer(row_around)] = None


def family(kind: type[Branch], row: list[str]) -> Branch:
    root = kind(row=["root"])
    root.branches.append(kind(row=row, parent=root))
    return root


MADE: dict[str, Callable[[list[str]], Any]] = {
    "a model": lambda row: Transfer(accounts=row),
    "in a model": lambda row: Branch(row=[], branches=[{"of": Transfer(accounts=row)}]),
    "with sets": lambda row: Transfer(accounts=row, tags=[0, 8, 16]),
    "a list": Route,
    "a way back": lambda row: family(Branch, row),
    "a way back that is left out": lambda row: family(Around, row),
}


@pytest.mark.parametrize("kind", MADE)
def test_the_order_of_a_list_counts(kind: str) -> None:
    one, other = MADE[kind](["a", "b"]), MADE[kind](["b", "a"])
    digest = digest_of([one])
    assert digest_of([other]) != digest == digest_of([MADE[kind](["a", "b"])])
    assert not same(digest, digest_of([other]), [other])


def test_the_order_of_a_set_does_not() -> None:
    digest = digest_of([Transfer(accounts=["a", "b"], tags=[0, 8, 16])])
    assert digest_of([Transfer(accounts=["a", "b"], tags=[16, 8, 0])]) == digest
    assert digest_of([Transfer(accounts=["a", "b"], tags=[0, 8, 17])]) != digest


@pytest.mark.parametrize("kind", MADE)
def test_each_is_asked_a_few_times(kind: str) -> None:
    """And not until Python refuses, where a program that has set a high limit of recursion would crash."""
    ASKED.clear()
    digest_of([MADE[kind](["a", "b"])])
    assert len(ASKED) < 20
