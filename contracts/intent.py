"""Intent: what a payload says, however it was sent: the same idempotency key with the same intent is the same submit.

A client that has the contract's class fills in defaults, orders the fields as the class does, and writes them under
their names. A client that only has the store's record of an agent (the command line, the HTTP service) sends what it
was given, under the aliases in that record. So the same submit would have two different digests if its bytes were
digested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, cast

from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import WithDefaultSchema

from .contract import Contract, ContractRef, load_mapping
from .kinds import Kind
from .wording import as_version, by_alias, said, text_of

# Default factories that always make the same value.
_FIXED = (list, dict, set, frozenset, tuple, str, int, float, bool)
# Down to which depth the dicts of a state are put in order. (A state may be deeper than Python can recurse.)
_DEEPEST = 100


class _Generated(GenerateJsonSchema):
    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        """Adds the defaults of simple factories (`Field(default_factory=list)`), which pydantic leaves out."""
        made, factory = super().default_schema(schema), schema.get("default_factory")
        return {**made, "default": self.encode_default(cast("Any", factory)())} if factory in _FIXED else made


def schema_of(contract: type[Contract]) -> dict[str, Any]:
    """A contract's JSON Schema, as the store keeps it."""
    schema: dict[str, Any] = _schema(cast("Any", contract))
    return schema


@lru_cache(maxsize=256)
def _schema(contract: Any) -> Any:
    return contract.model_json_schema(schema_generator=_Generated)


def named_schema_of(contract: type[Contract]) -> dict[str, Any] | None:
    """A contract's JSON Schema with fields under their names. None if it has no aliases."""
    schema: dict[str, Any] | None = _named_schema(cast("Any", contract))
    return schema


@lru_cache(maxsize=256)
def _named_schema(contract: Any) -> Any:
    named = contract.model_json_schema(by_alias=False, schema_generator=_Generated)
    return named if named != _schema(contract) else None


def written_schema_of(contract: type[Contract]) -> dict[str, Any]:
    """A contract's JSON Schema as it is written, and shown: with fields under their names, also those that are
    computed."""
    written: Any = contract
    try:
        schema: dict[str, Any] = written.model_json_schema(by_alias=False, mode="serialization")
    except PydanticInvalidForJsonSchema:  # a type may have a schema for what is read only
        return named_schema_of(contract) or schema_of(contract)
    return schema


def unsaid(payload: Contract) -> list[str]:
    """The fields that a payload was not given: computed ones, and those that are new each time (an id, a time)."""
    contract, given = type(payload), payload.model_fields_set
    minted = [name for name, field in contract.model_fields.items() if field.default_factory and name not in given]
    return [*contract.model_computed_fields, *minted]


@dataclass(frozen=True)
class Intent:
    """The meaning of a payload: its values by the names that clients without the class use, and their schema."""

    ref: ContractRef
    values: Mapping[str, Any]
    schema: Mapping[str, Any]
    state: bool = False

    def digest(self) -> str:
        """Differs between two intents."""
        if self.state:
            from .codec import pack  # only states need the codec, and it is a tenth of `import batonpass`

            text = pack(_ordered(dict(self.values)), path="payload")
        else:
            text = text_of(said(dict(self.values), Kind.of(self.schema))).encode()
        return blake2b(str(self.ref).encode() + b"\0" + text, digest_size=16).hexdigest()

    def as_version(self, ref: ContractRef, schema: Mapping[str, Any]) -> Intent:
        """The same values, sent as another version of the contract."""
        return Intent(ref, as_version(dict(self.values), Kind.of(self.schema), Kind.of(schema)), schema)


def intent_of(payload: Contract, ref: ContractRef, data: bytes) -> Intent:
    """The intent of stored bytes, with the contract's class."""
    contract, but = type(payload), unsaid(payload)
    values: Any = {name: value for name, value in load_mapping(ref, data).items() if name not in but}
    schema, state = schema_of(contract), data[:1] == b"s"
    named = None if state else named_schema_of(contract)
    if named is not None:
        values = by_alias(values, Kind.of(named), Kind.of(schema))
    return Intent(ref, values, schema, state)


def stranger_intent(ref: ContractRef, data: bytes, schema: Mapping[str, Any]) -> Intent:
    """The intent of stored bytes, with the recorded schema of the contract."""
    return Intent(ref, load_mapping(ref, data), schema, data[:1] == b"s")


def _ordered(value: Any, depth: int = 0) -> Any:
    """A state's value with its dicts in a fixed order."""
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
