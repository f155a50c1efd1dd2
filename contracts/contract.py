"""Contract: the type of what passes between agents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from .errors import BadSetup, ContractViolation
from .masked import MASK, Masked, masked
from .understood import understood
from .unfit import unfit

# What a JSON Schema says of the fields and their types, beside the words that hold names of fields.
_SHAPING = frozenset(
    "type required items prefixItems additionalProperties anyOf oneOf allOf $ref enum const".split()  # noqa: SIM905
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*(\[.+\])?\Z")


class ContractRef(NamedTuple):
    """A contract's identity: its stable name and its version."""

    name: str
    version: int

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


class Contract(BaseModel):
    """A versioned pydantic model with a stable name: `class Draft(Contract, name="desk.draft", version=2)`.

    - A subclass without `name=` is abstract: you can inherit from it, but no agent can accept it.
    - Instances are frozen.
    - The model ignores fields it doesn't know, but they stay in the stored payload.
    - Fields are sent under their names, and also read by their aliases. Bytes are sent as base64, nan and inf as such.
    - Payloads travel as JSON and are validated again when they arrive. So a datetime in a `datetime | str` field comes
      back as text, and a validator sees its own result once more.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        ser_json_bytes="base64",
        val_json_bytes="base64",
        ser_json_inf_nan="constants",
    )
    __contract_ref__: ClassVar[ContractRef | None] = None

    def __init_subclass__(cls, *, name: str | None = None, version: int = 1, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is not None and not _NAME.match(name):
            raise BadSetup(
                f"contract name {name!r} of {cls.__qualname__}: use letters, digits and _ . / -, e.g. 'desk.draft'"
            )
        given: Any = version  # users without a type checker give anything
        if not isinstance(given, int) or given < 1:
            raise BadSetup(f"contract {name!r}: version is {version!r}, but versions start at 1")
        cls.__contract_ref__ = ContractRef(name, version) if name is not None else None

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        generic = cls.__pydantic_generic_metadata__
        base = generic["origin"]
        if base is not None and issubclass(base, Contract) and base.__contract_ref__ is not None:
            arguments = ",".join(_argument_name(argument) for argument in generic["args"])
            of = base.__contract_ref__
            cls.__contract_ref__ = ContractRef(f"{of.name}[{arguments}]", of.version)


class State(Contract, name="batonpass.state"):
    """The built-in contract for plain dicts. It accepts any state with text keys, and values keep their types."""

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)

    if TYPE_CHECKING:  # any keyword is a value: pydantic knows from extra="allow", type checkers don't

        def __init__(self, **values: Any) -> None: ...

    def __getitem__(self, key: str) -> Any:
        return self.as_dict()[key]

    def as_dict(self) -> dict[str, Any]:
        """The values as a new dict."""
        # With the fields that a subclass declares. `dict(self)` would call a value that is named `keys`.
        return dict(iter(self))


@dataclass(frozen=True)
class Payload(Mapping[str, Any]):
    """A payload whose contract class this process doesn't have: a read-only mapping with the contract's name."""

    ref: ContractRef
    values_: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.values_[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_)

    def __len__(self) -> int:
        return len(self.values_)


C = TypeVar("C", bound=Contract)


def contract_ref(contract: type[Contract]) -> ContractRef:
    """The name and version of a contract class. `BadSetup` for an abstract one, or anything else."""
    given: Any = contract  # users without a type checker give anything
    ref: ContractRef | None = getattr(given, "__contract_ref__", None) if isinstance(given, type) else None
    if ref is not None:
        return ref
    if not (isinstance(given, type) and issubclass(given, Contract)):
        raise BadSetup(f"{contract!r} is not a contract: subclass batonpass.Contract and give it name=")
    raise BadSetup(f"{contract.__qualname__} has no name: write class {contract.__name__}(Contract, name='team.thing')")


def dump_payload(payload: Contract) -> bytes:
    """The payload's stored bytes: JSON text, or the state codec for `State` so that its values keep their types.

    `ContractViolation` if its class would not read them: model_construct and mutable fields can hide what does not
    fit. What a class refuses to read of its own text (computed fields where extra ones are forbidden, the value of a
    `pydantic.Json`) is written as it was given.
    """
    data = _written(payload)
    try:
        again = load_payload(type(payload), data)
    except ContractViolation as refused:
        data = _written(payload, round_trip=True)
        try:
            again = load_payload(type(payload), data)
        except ContractViolation:
            raise refused from None
    if MASK.encode() in data and again != payload:
        raise ContractViolation(
            f"this {contract_ref(type(payload))} holds a secret that pydantic writes as asterisks: keep it out of "
            "payloads, or give the field a serializer that reveals it"
        )
    return data


def _written(payload: Contract, *, round_trip: bool = False) -> bytes:
    if isinstance(payload, State):
        from .codec import pack  # only states need the codec, and it is a tenth of `import batonpass`

        return b"s" + pack(payload.as_dict(), path="payload")
    try:
        data = b"j" + payload.__pydantic_serializer__.to_json(payload, warnings=False, round_trip=round_trip)
    except ValueError as error:
        raise ContractViolation(f"this {contract_ref(type(payload))} can't be written as JSON: {error}") from None
    if data[1:2] != b"{":
        raise ContractViolation(
            f"this {contract_ref(type(payload))} is not written as an object with fields, so that only its class could "
            "read it: let its model_serializer return a dict"
        )
    return data


def load_payload(contract: type[C], data: bytes) -> C:
    """Validate stored bytes as `contract`; `ContractViolation` names the fields that do not fit."""
    unpacked = _unpacked(data) if data[:1] == b"s" else None
    try:
        if data[:1] == b"s":
            return contract.model_validate(unpacked, by_alias=True, by_name=True)
        # Straight from the validator: pydantic's own way there takes as long as the rest.
        loaded: C = contract.__pydantic_validator__.validate_json(data[1:], by_alias=True, by_name=True)
        return loaded
    except ValidationError as error:
        raise violation(contract, error) from None
    except Exception as error:  # a field's type is anybody's code, and pydantic lets through what is no ValueError
        raise _unfit(contract, unpacked if data[:1] == b"s" else from_json(data[1:]), error) from error


@understood("a payload of {0}")
def load_mapping(ref: ContractRef, data: bytes) -> Payload:
    """Stored bytes without their class."""
    values: Any = _unpacked(data) if data[:1] == b"s" else from_json(data[1:])
    return Payload(ref, {**values})


def _unpacked(data: bytes) -> Any:
    from .codec import unpack

    return unpack(data[1:])


def convert(contract: type[C], value: Any, *, dumped_from: Any = None) -> C:
    """Validate plain values (a state, a framework's result) as `contract`, as if they had come as JSON."""
    if isinstance(value, contract):
        return value
    try:
        if issubclass(contract, State):
            return contract.model_validate(value)
        text = to_json(value, bytes_mode="base64", inf_nan_mode="constants", fallback=_dumped)
        if MASK.encode() in text:
            _check_told(contract, value if dumped_from is None else dumped_from, from_json(text))
    except ValidationError as error:
        raise violation(contract, error) from None
    except ValueError as error:
        raise ContractViolation(f"not a valid {contract_ref(contract)}: it can't be written as JSON: {error}") from None
    return load_payload(contract, b"j" + text)


def _dumped(value: Any) -> Any:
    """What its registered function makes of a value that pydantic can't write."""
    from .builtin_types import class_of  # few results hold such values
    from .state_types import found_type

    known = found_type(class_of(value))
    if known is None:
        raise PydanticSerializationError(f"Unable to serialize unknown type: {class_of(value)}")
    return next(iter(known.shape.forms(value)))()


def _check_told(contract: type[Contract], value: Any, written: Any) -> None:
    """Refuse a result of which a secret would be asterisks in the contract. What the contract leaves out may be one."""
    fields = contract.model_fields
    known = {*fields, *(each.alias for each in fields.values() if each.alias)}
    if contract.model_config.get("extra") == "allow":
        known.update(written)
    found = [path for path in masked(value, written) if path.partition(".")[0] in known]
    if found:
        raise Masked(
            f"not a valid {contract_ref(contract)}: {', '.join(found)} holds a secret, which pydantic writes as "
            "asterisks: keep it out of results, give the field a serializer that tells it, or say leave=",
            fields=[f"{path}: a secret" for path in found],
        )


def same_fields(one: Any, other: Any) -> bool:
    """Whether two JSON Schemas have the same fields of the same types. Texts, bounds and patterns may differ: another
    version of pydantic words them otherwise."""
    return bool(_shape(one) == _shape(other))


def _shape(schema: Any) -> Any:
    if isinstance(schema, list | tuple):
        return [_shape(item) for item in cast("Sequence[Any]", schema)]
    if not isinstance(schema, Mapping):
        return schema
    shape: dict[str, Any] = {}
    for word, value in cast("Mapping[str, Any]", schema).items():
        if word in ("properties", "$defs"):
            shape[word] = {name: _shape(held) for name, held in value.items()}
        elif word in _SHAPING:
            shape[word] = sorted(value) if word == "required" else _shape(value)
    return shape


def violation(contract: type[Contract], error: ValidationError) -> ContractViolation:
    """A `ValidationError` in our words, one line, with every field named."""
    fields = unfit(error)
    return ContractViolation(f"not a valid {contract_ref(contract)}: {'; '.join(fields)}", fields=fields)


def _unfit(contract: type[Contract], values: Any, error: Exception) -> ContractViolation:
    """An error that a field's type raised, in our words. It doesn't say which field: the first that raises alone."""
    why = f"{type(error).__name__}: {' '.join(str(error).split())}"
    given: Mapping[str, Any] = cast("Mapping[str, Any]", values) if isinstance(values, Mapping) else {}
    field = next((name for name, value in given.items() if _raises(contract, name, value)), "(whole)")
    return ContractViolation(f"not a valid {contract_ref(contract)}: {field}: {why}", fields=[f"{field}: {why}"])


def _raises(contract: type[Contract], name: str, value: Any) -> bool:
    try:
        contract.__pydantic_validator__.validate_json(to_json({name: value}), by_alias=True, by_name=True)
    except ValidationError:
        return False
    except Exception:
        return True
    return False


def _argument_name(argument: Any) -> str:
    ref = getattr(argument, "__contract_ref__", None)
    outer = ref.name if ref else getattr(get_origin(argument) or argument, "__qualname__", argument)
    inner = ",".join(map(_argument_name, get_args(argument)))
    return f"{outer}[{inner}]" if inner else str(outer)
