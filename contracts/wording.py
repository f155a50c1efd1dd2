"""Wording: what a payload's values say, in one of the many ways to write it: without defaults, by the fields' aliases,
or as another version of their contract words it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from .kinds import Kind

_Names: TypeAlias = dict[str, str]


def said(value: Any, kind: Kind) -> Any:
    """A JSON value without defaults, with whole numbers as integers and with sets sorted."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        given = cast("Sequence[Any]", value)
        items = [said(item, each) for item, each in zip(given, kind.items(), strict=False)]
        return sorted(items, key=text_of) if kind.part().get("uniqueItems") else items
    if not isinstance(value, dict):
        return value
    fields, told = kind.by_name(), dict[str, Any]()
    for name, held in cast("dict[str, Any]", value).items():
        field = fields(name)
        own = said(held, field)
        if not _is_default(own, field):
            told[name] = own
    return told


def by_alias(value: Any, named: Kind, aliased: Kind) -> Any:
    """A value with its fields renamed to their aliases. `named` and `aliased` are two schemas of one contract."""
    return _translated(value, named, aliased, _aliases)


def with_aliases(value: Any, named: Kind, aliased: Kind) -> Any:
    """`by_alias` for a value whose fields may already be under their aliases."""
    return _translated(value, named, aliased, _aliases_left)


def as_version(value: Any, own: Kind, other: Kind) -> Any:
    """A value without the fields that another version of its contract does not know and that hold their default."""
    return _translated(value, own, other, _kept)


def _translated(value: Any, own: Kind, other: Kind, names: Callable[[dict[str, Any], Kind, Kind], _Names]) -> Any:
    """A value of one kind in the form of another. `names` says which fields remain, and what the other calls them."""
    if isinstance(value, list):
        kinds = zip(cast("Sequence[Any]", value), own.items(), other.items(), strict=False)
        return [_translated(*each, names) for each in kinds]
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    of_own, of_other = own.by_name(), other.by_name()
    return {
        there: _translated(given[name], of_own(name), of_other(there), names)
        for name, there in names(given, own, other).items()
    }


def _aliases(value: dict[str, Any], named: Kind, aliased: Kind) -> _Names:
    called = _called(named, aliased)
    return {name: called.get(name, name) for name in value}


def _aliases_left(value: dict[str, Any], named: Kind, aliased: Kind) -> _Names:
    called, aliases = _called(named, aliased), aliased.fields()
    free = {name: alias for name, alias in called.items() if name not in aliases and alias not in value}
    return {name: free.get(name, name) for name in value}


def _called(named: Kind, aliased: Kind) -> _Names:
    names, aliases = named.fields(), aliased.fields()  # both in the order of the class
    return dict(zip(names, aliases, strict=True)) if len(names) == len(aliases) else {}


def _kept(value: dict[str, Any], own: Kind, other: Kind) -> _Names:
    known, of_own = other.fields(), own.by_name()
    return {
        name: name
        for name, held in value.items()
        if name in known or not _is_default(said(held, of_own(name)), of_own(name))
    }


def text_of(value: Any) -> str:
    """A JSON value as text; equal ones have the same."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _is_default(value: Any, kind: Kind) -> bool:
    """Whether what a value says is its field's default, in the same way: True is not 1."""
    schema: Any = kind.schema
    if not isinstance(schema, dict) or "default" not in schema:
        return False
    default = said(cast("dict[str, Any]", schema)["default"], kind)
    return bool(value == default) and text_of(value) == text_of(default)
