"""What does not fit a model, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

# What pydantic writes before the message of a validator.
_RAISED = {"value_error": "Value error, ", "assertion_error": "Assertion failed, "}


def unfit(error: ValidationError) -> list[str]:
    """What is wrong with each field, behind the field's path."""
    wrongs = error.errors(include_url=False)
    return [f"{'.'.join(map(str, wrong['loc'])) or '(whole)'}: {_message(wrong)}" for wrong in wrongs]


def messages(error: ValidationError) -> list[str]:
    """The same without the paths."""
    return [_message(wrong) for wrong in error.errors(include_url=False)]


def _message(wrong: ErrorDetails) -> str:
    return wrong["msg"].removeprefix(_RAISED.get(wrong["type"], ""))
