"""How the page shows schemas, values and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from batonpass.contracts.errors import ContractViolation
from batonpass.service.page.fields import fields, filled, read
from batonpass.service.page.words import shown, span, when

NOW = datetime(2031, 5, 1, 12, tzinfo=UTC)


class Colour(Enum):
    """Which one."""

    RED = "red"
    BLUE = "blue"


class Flat(BaseModel):
    name: str
    age: int
    share: float | None = None
    sure: bool = False
    colour: Colour = Colour.BLUE
    level: Literal[1, 2] | None = Field(None, title="How far", description="one or two")


class Inner(BaseModel):
    values: dict[str, int]


class Nested(BaseModel):
    inner: Inner


class Nullable(BaseModel):
    age: int | None


def test_a_flat_object_has_a_field_for_each() -> None:
    made = fields(Flat.model_json_schema())
    assert [field.key for field in made] == [
        "string:name",
        "integer:age",
        "number?:share",
        "boolean?:sure",
        "choice?:colour",
        "choice?:level",
    ]
    assert [field.value for field in made] == ["", "", "", "false", '"blue"', ""]
    assert made[4].choices == (('"red"', "red"), ('"blue"', "blue"))
    assert (made[5].label, made[5].help, made[5].choices) == ("How far", "one or two", (("1", "1"), ("2", "2")))
    assert [field.value for field in filled(made, {"integer:age": "x"})[:2]] == ["", "x"]


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"x": {}}},
        {"type": "object", "properties": {"x": True}},
        {"type": "object", "properties": {"x": {"type": ["string", "null"]}}},
        {"type": "object", "properties": {"x": {"$ref": "#/properties/x"}}},
        {"type": "object", "properties": {"x": {"$ref": "https://example.com/other"}}},
        {"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}},
        {"type": "object", "properties": {"x": {"enum": [[1], {}]}}},
        {"type": "object", "properties": {str(n): {"type": "string"} for n in range(99)}},
        {"type": "object", "properties": [], "required": 7},
        {"type": "string"},
        {"$ref": "#"},
        Nested.model_json_schema(),
        Nullable.model_json_schema(),
    ],
)
def test_all_else_is_typed_as_json(schema: dict[str, Any] | None) -> None:
    assert fields(schema) == ()


def test_what_was_typed_is_read_as_its_kind_says() -> None:
    typed = {"string:name": "12", "integer:age": "12", "boolean?:sure": "true", "choice?:colour": '"red"'}
    assert read(typed) == {"name": "12", "age": 12, "sure": True, "colour": "red"}
    assert read({"string:name": "", "string?:note": "", "integer:age": "", "number?:share": ""}) == {"name": ""}
    assert read({"integer:age": "many", "number:share": "1e400"}) == {"age": "many", "share": "1e400"}
    assert read({"string:a:b": "x", "strange": "y"}) == {"a:b": "x"}
    assert read({"json": "[1]"}) == [1]
    assert read({"text": "[1]"}) == "[1]"
    with pytest.raises(ContractViolation, match="not JSON"):
        read({"json": "{"})


def test_values_are_shown_whatever_they_are() -> None:
    assert shown({"a": float("nan")}).text == '{\n  "a": NaN\n}'
    assert shown("\ud800").text == "\ud800"
    assert shown({"a": "\ud800"}).text == r"{'a': '\ud800'}"
    assert (shown("a\nb").prose, shown("a\nb").folded, shown("a\nb").brief) == (True, False, "a b")
    long = shown("word " * 100_000)
    assert (long.folded, len(long.text), long.left, len(long.brief)) == (True, 200_000, 300_000, 160)
    assert shown(["\n"] * 20).folded


def test_times_are_told_from_now() -> None:
    for seconds, text in (
        (0, "now"),
        (-1, "1 second ago"),
        (-90, "1 minute ago"),
        (7200, "in 2 hours"),
        (-86400 * 3, "3 days ago"),
    ):
        assert when(NOW + timedelta(seconds=seconds), NOW) == text
    assert when(NOW - timedelta(days=400), NOW) == "2030-03-27"
    assert [span(each) for each in (0.2, 61, 3600, 90000)] == [
        "0 seconds",
        "1 minute 1 second",
        "1 hour",
        "1 day 1 hour",
    ]
