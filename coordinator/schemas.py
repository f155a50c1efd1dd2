"""Schemas: plain values checked by the JSON Schema that the store keeps, where nobody has the class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from ..contracts.contract import ContractRef
from ..contracts.errors import ContractViolation


def fit_schema(what: ContractRef | str, schema: Mapping[str, Any], values: Any) -> bytes:
    """Plain values as JSON, which fits a schema, that of a contract or of `what`; else `ContractViolation`."""
    from jsonschema import Draft202012Validator
    from referencing import Registry

    try:
        data = to_json(values, bytes_mode="base64", inf_nan_mode="constants")
    except ValueError as error:
        raise ContractViolation(f"not a valid {what}: it can't be written as JSON: {error}") from None
    # Nothing is fetched for a schema that somebody stored. (Typed in part only.)
    validator: Any = Draft202012Validator(schema, registry=Registry())
    problems = [
        f"{'.'.join(map(str, error.absolute_path)) or '(whole)'}: {error.message}"
        for error in validator.iter_errors(from_json(data))
    ]
    if problems:
        raise ContractViolation(f"not a valid {what}: {'; '.join(problems)}", fields=problems)
    return data
