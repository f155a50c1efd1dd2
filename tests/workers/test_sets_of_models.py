"""Sets of models that a class makes: Python has no sets of dicts, so pydantic can't dump such a class but as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, computed_field, field_serializer, model_serializer

from batonpass.workers.context.arguments import digest_of

MADE = ["pay", "ship", "pack"]


class Step(BaseModel, frozen=True):
    name: str

    def __hash__(self) -> int:
        return 1  # so that sets keep the order in which they were made


class Plan(BaseModel):
    order: list[str] = ["b", "a"]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def steps(self) -> set[Step]:
        return {Step(name=name) for name in MADE}


class Nested(BaseModel):
    plans: dict[int, list[Plan]]


class Written(BaseModel):
    number: int = 1

    @field_serializer("number")
    def as_steps(self, _: int) -> Any:
        return {Step(name=name) for name in MADE}


class Whole(BaseModel):
    @model_serializer
    def as_steps(self) -> dict[str, Any]:
        return {"steps": {Step(name=name) for name in MADE}}


class Kept(BaseModel):
    tags: set[str]

    @computed_field  # type: ignore[prop-decorator]
    @cached_property
    def row(self) -> list[str]:
        return [name for name in MADE if name in self.tags | {"ship"}]


@pytest.mark.parametrize(
    "make",
    [
        Plan,
        lambda: Nested(plans={1: [Plan()]}),
        Written,
        lambda: Nested.model_construct(plans={1: [Written()]}),
        Whole,
        lambda: Kept(tags={"pay", "pack"}),
    ],
    ids=["computed", "nested", "field", "any", "whole", "kept"],
)
def test_sets_of_models_that_a_class_makes(make: Callable[[], BaseModel], monkeypatch: pytest.MonkeyPatch) -> None:
    digest = digest_of([make()])
    monkeypatch.setattr(sys.modules[__name__], "MADE", MADE[::-1])
    assert digest_of([make()]) == digest


class Transfer(BaseModel):
    accounts: list[str]
    tags: set[str] = {"a", "b"}
    amount: float = 1

    @field_serializer("amount")
    def written(self, value: float) -> str:
        return f"{value:.2f}"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def steps(self) -> set[Step]:
        return {Step(name=name) for name in MADE}


class Aliased(Transfer):
    model_config = ConfigDict(alias_generator=str.upper, serialize_by_alias=True, populate_by_name=True)


class Counting(Transfer):
    @computed_field  # type: ignore[prop-decorator]
    @cached_property
    def many(self) -> int:
        return len(self.tags | {"x"})


@pytest.mark.parametrize("kind", [Transfer, Aliased, Counting])
def test_lists_beside_what_serializers_write_keep_their_order(
    kind: type[Transfer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another transfer with the same key was taken for the one that is done."""
    there, back = (digest_of([kind(accounts=accounts)]) for accounts in (["a", "b"], ["b", "a"]))
    assert there != back
    monkeypatch.setattr(sys.modules[__name__], "MADE", MADE[::-1])
    assert digest_of([kind(accounts=["a", "b"])]) == there


def test_lists_beside_nested_sets_of_models_keep_their_order() -> None:
    one, other = (Nested(plans={1: [Plan(order=order)]}) for order in (["a", "b"], ["b", "a"]))
    assert digest_of([one]) != digest_of([other])
