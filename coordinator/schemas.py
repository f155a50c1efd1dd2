"""Schemas: checks plain values by a JSON Schema from the store, in processes without the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic_core import from_json, to_json

from ..contracts.contract import ContractRef
from ..contracts.errors import ContractViolation
from .problems import told


def fit_schema(what: ContractRef | str, schema: Mapping[str, Any], values: Any) -> bytes:
    """Plain values as JSON, checked by a schema. Raises `ContractViolation`, about its contract or about `what`."""
    from .formats import checker  # which takes as long to import as much of the rest

    try:
        data = to_json(values, bytes_mode="base64", inf_nan_mode="constants")
    except ValueError as error:
        raise ContractViolation(f"not a valid {what}: it can't be written as JSON: {error}") from None
    found = checker(schema).iter_errors(from_json(data))
    problems = list(dict.fromkeys(problem for error in found for problem in told(error, schema)))
    if problems:
        raise ContractViolation(f"not a valid {what}: {'; '.join(problems)}", fields=problems)
    return data


def fits(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a schema takes a plain value. None does if the schema refers to something that is not in it."""
    from referencing.exceptions import Unresolvable

    try:
        fit_schema("value", schema, value)
    except (ContractViolation, Unresolvable):
        return False
    return True


def example_of(schema: Mapping[str, Any] | None, word: Any) -> Any:
    """The first of a schema's examples that holds a word, or None."""
    examples = (schema or {}).get("examples")
    found = cast("Sequence[Any]", examples) if isinstance(examples, list) else ()
    return next((each for each in found if _holds(each, word)), None)


def _holds(value: Any, word: Any) -> bool:
    if isinstance(value, dict):
        return _holds(list(cast("Mapping[str, Any]", value).values()), word)
    if isinstance(value, list):
        return any(_holds(each, word) for each in cast("Sequence[Any]", value))
    return bool(value == word)
