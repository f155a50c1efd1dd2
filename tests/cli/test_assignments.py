"""`--set` and `--add`: where a name ends and its value begins."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.cli.options import assignments


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ('text="a=b"', "text", "a=b"),
        ('effect:a="b=c"', "effect:a", "b=c"),
        ('effect:a=b="paid"', "effect:a=b", "paid"),
        ("effect:a=b==12", "effect:a=b=", 12),
    ],
)
def test_a_key_may_have_signs_of_equality(given: str, name: str, value: Any) -> None:
    """The advice about an effect that may have happened names them so."""
    assert assignments([given]) == [(name, value)]


@pytest.mark.parametrize("given", ["url=https://x?y=1", "effect:a=b", "effect:a=b=c", "=1", "round"])
def test_a_text_without_quotes_is_no_name(given: str) -> None:
    with pytest.raises(bp.BadSetup):
        assignments([given])


def test_a_key_is_named_whole_when_quotes_are_missing() -> None:
    with pytest.raises(bp.BadSetup, match=r"e\.g\. effect:a=b='"):
        assignments(["effect:a=b=paid"])
