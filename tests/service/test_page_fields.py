"""What an empty field of an answer's form means."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from batonpass.service.page.fields import fields, filled, read


class Mood(Enum):
    FINE = "sch\u00f6n"
    BAD = "bad"


class Answer(BaseModel):
    note: str = "hello"
    amount: int | None = 5
    rate: float = 1.5
    mood: Mood = Mood.FINE
    way: Literal["a", "b"] | None = "a"
    more: str | None = None
    needed: str


def typed(**values: str) -> dict[str, str]:
    """A form with these values, and otherwise as it was shown."""
    return {each.key: values.get(each.name, each.value) for each in fields(Answer.model_json_schema())}


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ({"needed": "x"}, Answer(needed="x")),
        ({"needed": "", "note": "", "amount": "", "way": ""}, Answer(needed="", note="", amount=None, way=None)),
        ({"needed": "x", "rate": ""}, Answer(needed="x")),  # it can't be empty
        ({"needed": "x", "more": "y", "amount": "7"}, Answer(needed="x", more="y", amount=7)),
    ],
)
def test_it_is_what_the_person_cleared(values: dict[str, str], answer: Answer) -> None:
    assert Answer.model_validate(read(typed(**values))) == answer


def test_what_is_shown_is_one_of_the_choices() -> None:
    shown: dict[str, Any] = {each.name: each for each in fields(Answer.model_json_schema())}
    for name in ("mood", "way"):
        assert shown[name].value in dict(shown[name].choices)
    [again] = [each for each in filled(list(shown.values()), typed(note="")) if each.name == "note"]
    assert again.value == ""
