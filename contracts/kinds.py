"""Kinds: what a JSON Schema says about a value and its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, repeat
from typing import Any, NamedTuple, cast


class Kind(NamedTuple):
    """A schema, and the `$defs` that it refers to."""

    schema: Any
    types: Mapping[str, Any]

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> Kind:
        """The kind of a contract's payloads."""
        return cls(schema, schema.get("$defs", {}))

    def part(self) -> Mapping[str, Any]:
        """The schema of a value's fields or items. Empty if the value may be one of several kinds, because without
        their defaults, values of two kinds could become the same."""
        given: Any = self.schema
        part: Mapping[str, Any] = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        while True:
            for word in ("anyOf", "oneOf", "allOf"):
                kinds = [kind for kind in part.get(word, ()) if kind != {"type": "null"}]
                part = kinds[0] if len(kinds) == 1 else part
            if "$ref" not in part:
                return part
            part = self.types.get(part["$ref"].rpartition("/")[2], {})

    def fields(self) -> Mapping[str, Any]:
        """The schemas of the fields that are named."""
        fields: Mapping[str, Any] = self.part().get("properties", {})
        return fields

    def by_name(self) -> Callable[[str], Kind]:
        """The kind of a field, by its name."""
        part, types = self.part(), self.types
        fields, more = part.get("properties", {}), part.get("additionalProperties")
        return lambda name: Kind(fields.get(name, more), types)

    def items(self) -> Iterator[Kind]:
        """The kinds of a list's items, in order, without end."""
        part = self.part()
        return (Kind(item, self.types) for item in chain(part.get("prefixItems", ()), repeat(part.get("items"))))
