"""Schemas: checks plain values by a JSON Schema from the store, in processes without the class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic_core import from_json, to_json

from ..contracts.contract import ContractRef
from ..contracts.errors import ContractViolation


def fit_schema(what: ContractRef | str, schema: Mapping[str, Any], values: Any) -> bytes:
    """Plain values as JSON, checked by a schema. Raises `ContractViolation`, about its contract or about `what`."""
    from jsonschema import Draft202012Validator
    from referencing import Registry

    try:
        data = to_json(values, bytes_mode="base64", inf_nan_mode="constants")
    except ValueError as error:
        raise ContractViolation(f"not a valid {what}: it can't be written as JSON: {error}") from None
    # A stored schema may not make us fetch anything. (The library is typed in part only.)
    validator: Any = Draft202012Validator(schema, registry=Registry())
    problems = list(dict.fromkeys(told for error in validator.iter_errors(from_json(data)) for told in _told(error)))
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
    found = cast("list[Any]", examples) if isinstance(examples, list) else []
    return next((each for each in found if _holds(each, word)), None)


def _holds(value: Any, word: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds(each, word) for each in cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        return any(_holds(each, word) for each in cast("list[Any]", value))
    return bool(value == word)


def _told(error: Any) -> list[str]:
    """What is wrong where. Of missing fields in the words of pydantic, as a process with the class says it: each error
    of the library is about one, but knows all."""
    where = [str(each) for each in error.absolute_path]
    if error.validator == "required":
        missing = (name for name in error.validator_value if name not in error.instance)
        return [f"{'.'.join([*where, name])}: Field required" for name in missing]
    return [f"{'.'.join(where) or '(whole)'}: {error.message}"]
