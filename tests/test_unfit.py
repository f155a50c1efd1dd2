"""What a contract's own validators raise."""

from __future__ import annotations

import pydantic
import pytest

import batonpass as bp
from batonpass.contracts.contract import convert


def test_what_validators_raise_is_told_in_their_words() -> None:
    class Span(bp.Contract, name="test.span"):
        first: int
        last: int

        @pydantic.field_validator("first")
        @classmethod
        def positive(cls, value: int) -> int:
            if value <= 0:
                raise AssertionError("first must be positive")
            return value

        @pydantic.model_validator(mode="after")
        def in_order(self) -> Span:
            if self.last < self.first:
                raise ValueError("last is before first")
            return self

    for values, told in (((0, 1), "first: first must be positive"), ((2, 1), "(whole): last is before first")):
        with pytest.raises(bp.ContractViolation) as raised:
            convert(Span, dict(zip(("first", "last"), values, strict=True)))
        assert str(raised.value) == f"not a valid test.span@1: {told}"
