"""Plain values as values that JSON has."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from fractions import Fraction
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, RootModel, SecretStr, computed_field, field_serializer
from pydantic_core import to_json

from batonpass.contracts.jsonable import as_json, jsonable
from batonpass.contracts.state_types import UnknownValue


class Color(Enum):
    RED = "red"


class Shown(BaseModel):
    """All that a model's class can say of how it is written."""

    model_config = ConfigDict(extra="allow", serialize_by_alias=True)
    when: datetime = Field(default=datetime(2031, 5, 1, tzinfo=UTC), alias="at")
    key: SecretStr = SecretStr("secret")
    hidden: int = Field(default=1, exclude=True)
    masked: str = "secret"
    color: Color = Color.RED
    site: HttpUrl = HttpUrl("https://a.example")
    held: Any = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> int:
        return 2

    @field_serializer("masked")
    def mask(self, masked: str) -> str:
        return "***"


class Timed(BaseModel):
    model_config = ConfigDict(ser_json_timedelta="float", ser_json_inf_nan="constants")
    took: timedelta = timedelta(seconds=90)
    held: Any = None


class Root(RootModel[list[Any]]):
    pass


@dataclass
class Row:
    held: Any = None


class Stubborn(BaseModel):
    """A model that its own class can't write."""

    held: int = 1

    @field_serializer("held")
    def refuse(self, held: int) -> int:
        raise ZeroDivisionError("no")


class Part(Fraction):
    """A class that is no state type, as Fraction itself may be by then: another test registers it."""


AT = datetime(2031, 5, 2, tzinfo=UTC)
ODD = [
    (b"\xff\xd8", "_9g="),
    (b"text", "dGV4dA=="),
    ({frozenset({1}): 2}, {"frozenset({1})": 2}),
    ({Part(1, 3): [Part(1, 2)]}, {"1/3": ["1/2"]}),
    (math.nan, "NaN"),
]


def test_any_library_writes_them() -> None:
    found = jsonable({"at": datetime(2031, 5, 1, tzinfo=UTC), "share": math.nan, "of": [math.inf]})
    assert json.dumps(found, allow_nan=False) == '{"at": "2031-05-01T00:00:00Z", "share": "NaN", "of": ["Infinity"]}'


def test_keys_that_differ_only_by_type_stay_apart() -> None:
    scores = {1: "a", "1": "b", None: "c", "None": "d", (1, 2): "e", "(1, 2)": "f", "1 (int)": "g", b"x": "h"}
    assert jsonable({"scores": scores})["scores"] == {
        "1 (int) (int)": "a",
        "1": "b",
        "None (NoneType)": "c",
        "None": "d",
        "(1, 2) (tuple)": "e",
        "(1, 2)": "f",
        "1 (int)": "g",
        "b'x'": "h",
    }


@pytest.mark.parametrize(("held", "shown"), ODD)
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [1, {"in": v}], lambda v: Row(v), lambda v: Shown(held=v)])
def test_what_a_class_holds_is_shown_as_elsewhere(held: Any, shown: Any, wrap: Any) -> None:
    """Such a state could be saved, and nobody could look at it."""
    assert jsonable({"v": Row(wrap(held))})["v"]["held"] == jsonable({"v": wrap(shown)})["v"]
    assert jsonable({"v": Root([wrap(held)])})["v"] == [jsonable({"v": wrap(shown)})["v"]]
    assert jsonable({"v": Shown.model_validate({"at": AT, "held": wrap(held), "more": 1})})["v"] == {
        "at": "2031-05-02T00:00:00Z",
        "key": "**********",
        "masked": "***",
        "color": "red",
        "site": "https://a.example/",
        "held": jsonable({"v": wrap(shown)})["v"],
        "more": 1,
        "double": 2,
    }


@pytest.mark.parametrize(
    "held", [None, 1.5, [{"a": {1: (True, {2})}}], {True: 1}, {datetime(2031, 5, 1, tzinfo=UTC): 1}, {(1, 2): 3}]
)
def test_all_else_is_written_by_its_class(held: Any) -> None:
    for value in (Shown.model_validate({"held": held, "more": Timed(held=held)}), Root([held]), Row(Row(held))):
        assert as_json([value]) == to_json([value])


def test_what_stands_for_an_object_is_shown_in_a_dataclass_too() -> None:
    unknown = UnknownValue("a.b", b"\xc1")
    assert jsonable({"v": Row([Row(unknown)])}) == {"v": {"held": [{"held": jsonable({"v": unknown})["v"]}]}}
    assert jsonable({"v": unknown})["v"] == {"type": "a.b", "packed": "wQ=="}


def test_what_no_class_can_write_is_told() -> None:
    deep: Any = 1
    for _ in range(248):
        deep = [deep]
    assert "nested too deeply" in as_json([[[[Shown(held=deep)]]]]).decode()
    assert "no)" in as_json([Stubborn()]).decode()
    assert jsonable({"n": 10**5000, "m": 7}) == {"n": "1" + "0" * 5000, "m": 7}
