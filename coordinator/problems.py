"""Problems: what a JSON Schema finds wrong with a value, in few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_LONGEST = 200  # characters of one problem. The library repeats the value, or whole schemas


def told(error: Any, whole: Mapping[str, Any]) -> list[str]:
    """What is wrong where, of one error of the library. `whole` is the schema.

    Missing fields are told in the words of pydantic, as a process with the class says it: each error of the library is
    about one, but knows all. A value of one of several classes is told what its own class misses.
    """
    if error.validator == "required":
        missing = (name for name in error.validator_value if name not in error.instance)
        return [f"{_where(error, name)}: Field required{_meant(error.schema)}" for name in missing]
    if error.validator in ("oneOf", "anyOf"):
        branches = [_target(each, whole) for each in error.validator_value]
        tag = _tag(branches)
        if tag and isinstance(error.instance, dict):
            return _tagged(error, whole, tag, [each["properties"][tag]["const"] for each in branches])
        if not error.context:
            return [f"{_where(error)}: fits more than one of {', '.join(map(_name, branches))}"]
    return [f"{_where(error)}: {_short(error.message)}"]


def _meant(schema: Mapping[str, Any]) -> str:
    """What a schema that is nothing but a condition says of what it requires."""
    return "" if "properties" in schema or "description" not in schema else f" ({schema['description']})"


def _tagged(error: Any, whole: Mapping[str, Any], tag: str, tags: list[Any]) -> list[str]:
    """What is wrong with a value whose class is told by a tag."""
    one_of = ", ".join(map(repr, tags))
    if tag not in error.instance:
        return [f"{_where(error, tag)}: Field required, one of {one_of}"]
    given = error.instance[tag]
    if given not in tags:
        return [f"{_where(error, tag)}: {_short(repr(given))} is not one of {one_of}"]
    own = [each for each in error.context if each.relative_schema_path[0] == tags.index(given)]
    return [problem for each in own for problem in told(each, whole)] or [f"{_where(error)}: {_short(error.message)}"]


def _tag(branches: list[Mapping[str, Any]]) -> str | None:
    """The field by which each branch has a value of its own, as pydantic's discriminated unions do."""
    fields = [each.get("properties", {}) for each in branches]
    return next((name for name in fields[0] if all("const" in each.get(name, {}) for each in fields)), None)


def _target(branch: Any, whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """A branch, or the definition that it refers to."""
    about: Mapping[str, Any] = cast("Mapping[str, Any]", branch) if isinstance(branch, dict) else {}
    reference = str(about.get("$ref", ""))
    return whole.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {}) if reference else about


def _name(branch: Mapping[str, Any]) -> str:
    return str(branch.get("title") or branch.get("type") or "another")


def _where(error: Any, *more: str) -> str:
    return ".".join([*map(str, error.absolute_path), *more]) or "(whole)"


def _short(text: str) -> str:
    """A text without its middle: the value is at its beginning, and what is wrong at its end."""
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} ... {text[-half:]}"
