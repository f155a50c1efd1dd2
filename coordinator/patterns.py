"""Patterns: what a JSON Schema says of texts and names by regular expressions, matched as pydantic matches them.

Its expressions take time in proportion to the text. Python's may take years for thirty characters, and nothing can end
them: a service would answer nobody meanwhile. So a pattern that only Python's can match (with look-ahead, or the text
of a group once more) is not checked here, whatever the text's length. The class checks it, in the worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from jsonschema import Draft202012Validator, ValidationError
from pydantic_core import SchemaError, SchemaValidator, core_schema

_KEPT = 512  # expressions: a framework may ask with schemas that were made for one question


def can_match(pattern: object, text: str) -> bool:
    """Whether a pattern finds something in a text, or can't be asked."""
    reader = _reader(pattern) if isinstance(pattern, str) else None
    return reader is None or reader.isinstance_python(text)


@lru_cache(_KEPT)
def _reader(pattern: str) -> SchemaValidator | None:
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError:
        return None


def pattern_of_text(_: Any, pattern: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
    """The keyword `pattern`."""
    if isinstance(value, str) and not can_match(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def by_pattern(
    validator: Any, patterns: Mapping[str, Any], value: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    """The keyword `patternProperties`. A pattern that can't be asked may be about other names."""
    for pattern, described in patterns.items() if isinstance(value, dict) else ():
        if _reader(pattern) is not None:
            for name, each in cast("dict[str, Any]", value).items():
                if can_match(pattern, name):
                    yield from validator.descend(each, described, path=name, schema_path=pattern)


def of_other_names(validator: Any, described: Any, value: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
    """The keyword `additionalProperties`: as the library's, except beside patterns."""
    patterns: Mapping[str, Any] = schema.get("patternProperties", {})
    if not patterns or not isinstance(value, dict):
        yield from Draft202012Validator.VALIDATORS["additionalProperties"](validator, described, value, schema)
        return
    known: Mapping[str, Any] = schema.get("properties", {})
    values = cast("dict[str, Any]", value)
    others = [name for name in values if name not in known and not any(can_match(each, name) for each in patterns)]
    if described is False and others:
        names, which = (", ".join(map(repr, sorted(each))) for each in (others, patterns))
        verb = "does" if len(others) == 1 else "do"
        yield ValidationError(f"{names} {verb} not match any of the regexes: {which}")
        return
    for name in others:
        yield from validator.descend(values[name], described, path=name)
