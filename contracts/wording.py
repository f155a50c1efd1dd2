"""Wording: what a payload's values say, in one of the many ways to write it: without defaults, by the fields' aliases,
or as another version of their contract words it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from .kinds import Kind


def said(value: Any, kind: Kind) -> Any:
    """A JSON value without defaults, numbers by what they are worth, and sets in one order."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        given = cast("Sequence[Any]", value)
        items = [said(item, each) for item, each in zip(given, kind.items(), strict=False)]
        return sorted(items, key=text_of) if kind.part().get("uniqueItems") else items
    if not isinstance(value, dict):
        return value
    values = cast("dict[str, Any]", value)
    return {name: said(held, kind.field(name)) for name, held in values.items() if not _unsaid(held, kind.field(name))}


def by_alias(value: Any, named: Kind, aliased: Kind) -> Any:
    """A value with its fields under their aliases, not under their names: two schemas of one contract have both."""
    if isinstance(value, list):
        kinds = zip(cast("Sequence[Any]", value), named.items(), aliased.items(), strict=False)
        return [by_alias(*each) for each in kinds]
    if not isinstance(value, dict):
        return value
    names, aliases = named.fields(), aliased.fields()  # both in the order of the class
    called = dict(zip(names, aliases, strict=True)) if len(names) == len(aliases) else {}
    return {
        called.get(name, name): by_alias(held, named.field(name), aliased.field(called.get(name, name)))
        for name, held in cast("dict[str, Any]", value).items()
    }


def as_version(value: Any, own: Kind, other: Kind) -> Any:
    """A value without the fields that another version of its contract does not know and that hold their default."""
    if isinstance(value, list):
        kinds = zip(cast("Sequence[Any]", value), own.items(), other.items(), strict=False)
        return [as_version(*each) for each in kinds]
    if not isinstance(value, dict):
        return value
    known = other.fields()
    return {
        name: as_version(held, own.field(name), other.field(name))
        for name, held in cast("dict[str, Any]", value).items()
        if name in known or not _unsaid(held, own.field(name))
    }


def text_of(value: Any) -> str:
    """A JSON value as text; equal ones have the same."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _unsaid(value: Any, kind: Kind) -> bool:
    """Whether it is its field's default, in the same way: True is not 1."""
    if "default" not in kind.own:
        return False
    one, other = said(value, kind), said(kind.own["default"], kind)
    return bool(one == other) and text_of(one) == text_of(other)
