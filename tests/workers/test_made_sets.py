"""Digests of arguments whose classes make sets of models, which pydantic can't dump. Two calls with other lists must
not count as one (a second payment was not made), nor one call as two in another process (a takeover parked the job)."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, WrapSerializer, computed_field, model_serializer

from batonpass.workers.context.arguments import digest_of, same

from . import made_sets
from .made_sets import (
    ORDERED,
    Aliased,
    Computed,
    Dumped,
    Held,
    Labelled,
    Leg,
    Making,
    Step,
    beside,
    pairs,
    steps,
)

SEEDS = 4
EVERY = 4
"""By how much the table is thinned out, so that it takes a second. All of it: `python -m tests.workers.made_sets`."""


def printed(seed: int) -> Any:
    out = subprocess.run(
        [sys.executable, "-m", made_sets.__name__, str(EVERY)],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(out.stdout)


def test_each_form_of_a_field_beside_each_way_to_make_sets() -> None:
    with ThreadPoolExecutor(2) as pool:
        first, *others = pool.map(printed, range(1, SEEDS + 1))
    ordered, unordered = first
    assert len(ordered) > 80
    assert len(unordered) > 30
    told = [name for name, digests in {**ordered, **unordered}.items() if digests[0] == digests[2]]
    assert told == [], "with other values"
    assert [name for name, (one, other, _) in ordered.items() if one == other] == [], "in another order"
    assert [name for name, (one, other, _) in unordered.items() if one != other] == [], "of the same set"
    moved = [
        name
        for each in others
        for now, then in zip(each, first, strict=True)
        for name in now
        if now[name] != then[name]
    ]
    assert moved == [], "in another process"


class Routes(BaseModel):
    routes: list[list[str]]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def legs(self) -> set[Leg]:
        return {Leg(route=tuple(route)) for route in self.routes}


@pytest.mark.parametrize(
    ("form", "maker", "recorded"),
    [
        ("maybe", Computed, "8edba202478d69b6d9cfdf2c2037f13d"),
        ("of sequences", Labelled, "7afbc358feaf9f928f66bdca6176cccf"),
        ("ordered dict", Aliased, "80f3eca41cb10775b559e297e0fbfb0a"),
        ("pydantic's dataclass", Computed, "c6fde4e30c69c85ae562647410d3e9f6"),
        ("list", Dumped, "a5b7677822f89c7fdb23aff974d51d45"),
        ("list", Held, "ed7da26e80151df65f63451e3ef170e3"),
    ],
)
def test_the_digests_stay_as_they_are(form: str, maker: Any, recorded: str) -> None:
    """Where they were the same in each process. Workers of the last release know no others."""
    kind, make = ORDERED[form]
    assert digest_of([beside(maker, kind, make(["b", "a"]))]).hex() == recorded


def test_what_the_last_release_has_recorded_of_lists_in_computed_sets() -> None:
    """It put them in order."""
    given = [Routes(routes=[["b", "a"], ["d", "c"]])]
    assert same(bytes.fromhex("e26832ada247b4fc8e60db686e5c0f1d"), digest_of(given), given)


def test_no_older_form_takes_another_order_for_the_same() -> None:
    for name, make in pairs(ORDERED, EVERY):
        one, other = (make(["a", "b"]), make(["b", "a"]))
        assert not same(digest_of([one]), digest_of([other]), [other]), name
        assert not same(digest_of([other]), digest_of([one]), [one]), name


class Looking(Making):
    """Its serializers look into sets that they can't have but as JSON."""

    row: list[str]

    @model_serializer(mode="wrap")
    def written(self, handler: Callable[[Any], Any]) -> Any:
        made = handler(self)
        return {**made, "names": [step["name"] for step in made["steps"]]}


class Hurried(Making):
    row: list[str]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def names(self) -> Annotated[set[Step], WrapSerializer(lambda made, handler: [*handler(made)])]:
        return steps()


@pytest.mark.parametrize("kind", [Looking, Hurried])
def test_what_looks_into_its_sets_is_unknown(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = digest_of([kind(row=["a"])])
    monkeypatch.setattr(made_sets, "NAMES", made_sets.NAMES[::-1])
    assert digest_of([kind(row=["a"])]) == digest
    assert digest_of([kind(row=["b"])]) != digest


def test_only_the_field_that_looks_into_its_sets_is_unknown() -> None:
    assert digest_of([Hurried(row=["a", "b"])]) != digest_of([Hurried(row=["b", "a"])])


def test_a_class_that_leaves_names_out_and_writes_others() -> None:
    class Both(Making):
        row: list[str] = Field(serialization_alias="Row")
        note: str | None = None

        def model_dump_json(self, **options: Any) -> str:
            options |= {"by_alias": True, "exclude_none": True}
            return super().model_dump_json(**options)

    assert digest_of([Both(row=["a", "b"])]) != digest_of([Both(row=["b", "a"])])


class Dated(BaseModel):
    """Its serializers can't write but JSON."""

    row: list[dt.datetime]
    at: Annotated[list[dt.datetime], WrapSerializer(lambda at, handler: [each[:10] for each in handler(at)])]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def tags(self) -> set[str]:
        return {*made_sets.NAMES}

    @model_serializer(mode="wrap")
    def written(self, handler: Callable[[Any], Any]) -> Any:
        made = handler(self)
        return {**made, "first": made["row"][0][:10]}


class Turned(Making):
    """Writes its fields in another order, one of them by another name."""

    accounts: list[str]
    at: dt.date = dt.date(2031, 1, 1)

    @model_serializer(mode="wrap")
    def written(self, handler: Callable[[Any], Any]) -> Any:
        made = handler(self)
        return {"steps": made["steps"], "day": made["at"][:7], "accounts": made["accounts"]}


def test_a_serializer_that_writes_only_json_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that came in the place of a set was put in order: a payment back was taken for the payment."""
    digest = digest_of([Turned(accounts=["a", "b"])])
    assert digest_of([Turned(accounts=["b", "a"])]) != digest
    monkeypatch.setattr(made_sets, "NAMES", made_sets.NAMES[::-1])
    assert digest_of([Turned(accounts=["a", "b"])]) == digest


def test_serializers_that_write_only_json() -> None:
    """They are not what makes a set, and the last release had this digest."""
    days = [dt.datetime(2031, 1, day) for day in (2, 1)]  # noqa: DTZ001
    digest = digest_of([Dated(row=days, at=days)])
    assert digest.hex() == "8e0acda5384cbbe8875ef593bb61dd33"
    assert digest_of([Dated(row=days[::-1], at=days)]) != digest != digest_of([Dated(row=days, at=days[::-1])])
