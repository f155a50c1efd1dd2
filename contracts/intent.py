"""Intent: what a payload says, however it was sent: the same idempotency key with the same intent is the same submit.

A client that has the contract's class fills the defaults of its fields in and orders them as the class does. One that
has only the store's record of an agent, as the command line and the HTTP service have, sends what it was given. A
digest of the bytes would tell the same submit by two routes apart.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, repeat
from typing import Any, cast

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import WithDefaultSchema

from .contract import Contract, ContractRef, load_mapping

# Factories of defaults that always make the same.
_FIXED = (list, dict, set, frozenset, tuple, str, int, float, bool)
# How deep the dicts of a state are put in order: a state may lie deeper than Python's calls.
_DEEPEST = 100


class _Generated(GenerateJsonSchema):
    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        """With the defaults of simple factories (`Field(default_factory=list)`), which pydantic leaves out."""
        made, factory = super().default_schema(schema), schema.get("default_factory")
        return {**made, "default": self.encode_default(cast("Any", factory)())} if factory in _FIXED else made


def schema_of(contract: type[Contract]) -> dict[str, Any]:
    """A contract's JSON Schema, as the store keeps it."""
    schema: dict[str, Any] = _schema(cast("Any", contract))
    return schema


@lru_cache(maxsize=256)
def _schema(contract: Any) -> Any:
    return contract.model_json_schema(schema_generator=_Generated)


def unsaid(payload: Contract) -> list[str]:
    """The fields that nobody gave a payload: what is computed, and what is made anew each time (an id, a time)."""
    contract, given = type(payload), payload.model_fields_set
    minted = [name for name, field in contract.model_fields.items() if field.default_factory and name not in given]
    return [*contract.model_computed_fields, *minted]


def intent_of(ref: ContractRef, data: bytes, schema: Mapping[str, Any], but: Collection[str] = ()) -> str:
    """The digest of what a stored payload says: its values `but` for some, and for those that are a field's default."""
    values = {name: value for name, value in load_mapping(ref, data).items() if name not in but}
    if data[:1] == b"s":
        from .codec import pack  # only states need the codec, and it is a tenth of `import batonpass`

        said = pack(_ordered(values), path="payload")
    else:
        said = _text(_said(values, schema, schema.get("$defs", {}))).encode()
    return blake2b(str(ref).encode() + b"\0" + said, digest_size=16).hexdigest()


def _said(value: Any, schema: Any, types: Mapping[str, Any]) -> Any:
    """A JSON value without defaults, numbers by what they are worth, and sets in one order."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, dict | list):
        return value
    part = _part(schema, types)
    if isinstance(value, list):
        kinds = chain(part.get("prefixItems", ()), repeat(part.get("items")))
        given = cast("Sequence[Any]", value)
        items = [_said(item, kind, types) for item, kind in zip(given, kinds, strict=False)]
        return sorted(items, key=_text) if part.get("uniqueItems") else items
    known, more, said = part.get("properties", {}), part.get("additionalProperties"), dict[str, Any]()
    for name, held in cast("dict[str, Any]", value).items():
        field = known.get(name)
        own = _said(held, more if field is None else field, types)
        if not (isinstance(field, dict) and "default" in field and _same(own, _said(field["default"], field, types))):
            said[name] = own
    return said


def _same(one: Any, other: Any) -> bool:
    """Whether they are written in the same way: True is not 1."""
    return bool(one == other) and _text(one) == _text(other)


def _part(schema: Any, types: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a schema says of a value's fields or items. Nothing if the value may be one of several kinds: without their
    defaults two of them could be the same."""
    part: Mapping[str, Any] = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    while True:
        for word in ("anyOf", "oneOf", "allOf"):
            kinds = [kind for kind in part.get(word, ()) if kind != {"type": "null"}]
            part = kinds[0] if len(kinds) == 1 else part
        if "$ref" not in part:
            return part
        part = types.get(part["$ref"].rpartition("/")[2], {})


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _ordered(value: Any, depth: int = 0) -> Any:
    """A state's value with its dicts in one order."""
    from .codec import pack

    if depth == _DEEPEST:
        return value
    if type(value) is list:
        return [_ordered(item, depth + 1) for item in cast("Sequence[Any]", value)]
    if type(value) is not dict:
        return value
    held = cast("Mapping[Any, Any]", value)
    plain = all(type(key) is str for key in held)
    return {key: _ordered(held[key], depth + 1) for key in sorted(held, key=None if plain else pack)}
