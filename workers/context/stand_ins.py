"""Stand-ins for a model's dump where pydantic makes none: Python has no sets of dicts, so a class that makes sets of
models can't be dumped but as JSON, which does not tell sets from lists, whose order counts.

So the class's own serializer is built once more, and only what it makes of sets differs: `Unordered` in place of sets
that Python can't have. All else (aliases, unions, recursion, serializers of users and of pydantic's own types) stays
pydantic's work. Nothing is guessed from what a class looks like.

What can't be known is `UNKNOWN`, in place of the field that holds it, and any list in it may be a set: what serializers
make of such sets if they look into them, and those in a value that is not of its field's type. Nobody can know what
lists a class has made of its own sets before pydantic sees them, or what sets are made only for JSON (`when_used`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import lru_cache, partial
from typing import Any, Final, NoReturn, cast

from pydantic import BaseModel, SerializationInfo
from pydantic_core import PydanticOmit, PydanticSerializationUnexpectedValue, SchemaSerializer
from pydantic_core.core_schema import (
    any_schema,
    list_schema,
    plain_serializer_function_ser_schema,
    wrap_serializer_function_ser_schema,
)

from ...contracts.builtin_types import class_of


class Unordered:
    """A set of what has no hash. A class's serializers must not look into it: what they make of it may be a list."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self.items = list(items)

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("unhashable: this stands for a set that Python can't have")

    __iter__ = __len__ = __getitem__ = __contains__ = __bool__ = _refuse


UNKNOWN: Final = Unordered()
"""In place of what can't be dumped: any list in it may be a set."""
_PARTS: Final = {
    *("schema", "items_schema", "keys_schema", "values_schema", "extras_schema", "return_schema"),
    *("strict_schema", "lax_schema", "json_schema", "python_schema", "steps", "definitions"),
    *("fields", "computed_fields", "choices"),
}
"""What other schemas are in a schema."""
_OPTIONS: Final = {
    *("include", "exclude", "exclude_unset", "exclude_defaults", "exclude_none", "exclude_computed_fields"),
    *("by_alias", "context", "round_trip"),
}
_FIELDS: Final = frozenset({"model-field", "dataclass-field", "typed-dict-field"})
_LOOSE: Final = frozenset({"any", "call", "is-instance", "function-plain"})
_ATOMS: Final = frozenset({"str", "int", "float", "bool", "bytes"})
_BEGUN: ContextVar[frozenset[int]] = ContextVar("batonpass_begun", default=frozenset())
"""The ids of what is being dumped."""


def dump(value: BaseModel, *, kept: bool = False) -> Any:
    """What a model's JSON was made of."""
    options = _options(value)
    with suppress(Exception):  # its own serializers may raise anything, and Python has no sets of dicts
        if not kept:
            return BaseModel.model_dump(value, warnings=False, **options)
    return _stand_in(value, kept=kept, **options)


def _options(value: BaseModel) -> dict[str, Any]:
    """With which options a class writes its JSON, if it does that in its own way."""
    if type(value).model_dump_json is BaseModel.model_dump_json:
        return {}
    noting = _Noting(value.__pydantic_serializer__)
    with suppress(Exception):
        made = value.model_copy()
        vars(made)["__pydantic_serializer__"] = noting
        made.model_dump_json(warnings=False)
    return {name: option for name, option in noting.options.items() if name in _OPTIONS}


class _Noting:
    """A serializer that notes its options."""

    def __init__(self, serializer: SchemaSerializer) -> None:
        self._serializer = serializer
        self.options: dict[str, Any] = {}

    def to_json(self, value: Any, **options: Any) -> bytes:
        self.options = options
        return self._serializer.to_json(value, **options)


def _stand_in(value: Any, *, kept: bool, **options: Any) -> Any:
    """What a model or dataclass would be dumped as. `kept`: its class has made lists of its sets before."""
    if id(value) in _BEGUN.get():
        return UNKNOWN  # a way back that its class leaves out, but only of JSON
    kind: Any = class_of(value)
    token = _BEGUN.set(_BEGUN.get() | {id(value)})
    try:
        return _serializer(kind, kept).to_python(value, warnings=False, **options)
    except Exception:  # its own serializers may raise anything
        return UNKNOWN
    finally:
        _BEGUN.reset(token)


@lru_cache(maxsize=256)
def _serializer(kind: Hashable, kept: bool) -> SchemaSerializer:
    return SchemaSerializer(_Opening(kept=kept).schema(cast("Any", kind).__pydantic_core_schema__))


class _Exactly(type):
    """Makes what is in a schema in place of a class: pydantic would take the serializer that the class has."""

    of: Any

    def __instancecheck__(cls, instance: object) -> bool:
        return class_of(instance) is cls.of


class _Opening:
    """Makes schemas whose serializers tell of each set."""

    def __init__(self, *, kept: bool) -> None:
        self._any: Any = plain_serializer_function_ser_schema(partial(_undeclared, kept=kept))
        self._kept = kept

    def schema(self, given: Any) -> Any:
        if isinstance(given, tuple):  # one of a union, with its name
            return tuple(self.schema(each) for each in cast("Sequence[Any]", given))
        if isinstance(given, list):
            return [self.schema(each) for each in cast("Sequence[Any]", given)]
        if not isinstance(given, dict):
            return given
        known = cast("dict[str, Any]", given)
        if not isinstance(known.get("type"), str):  # schemas by users' names
            return {name: self.schema(each) for name, each in known.items()}
        if "serialization" in known:
            return {**known, "serialization": self._written(known)}
        made = {key: self.schema(each) if key in _PARTS else each for key, each in known.items()}
        return self._open(made["type"], made)

    def _written(self, known: dict[str, Any]) -> Any:
        """How a serializer writes what the schema tells of."""
        how = cast("dict[str, Any]", known["serialization"])
        if how["type"] == "any":
            return self._any
        if not how["type"].startswith("function-"):
            return how
        theirs: Any = partial(_plainly, how["function"], how.get("info_arg", False))
        if how["type"] == "function-wrap":
            theirs = partial(_around, how["function"], int(how.get("is_field_serializer", False)))
        inner = how.get("schema") or {key: each for key, each in known.items() if key != "serialization"}
        return {
            **how,
            "function": theirs,
            "schema": self.schema(inner),
            "return_schema": self.schema(how.get("return_schema") or any_schema()),
        }

    def _open(self, kind: str, made: dict[str, Any]) -> dict[str, Any]:
        if kind in _LOOSE:
            made["serialization"] = self._any
        elif kind in ("set", "frozenset", "tuple"):
            inner: Any = made.copy() if kind == "tuple" else list_schema(made.get("items_schema"))
            made["serialization"] = wrap_serializer_function_ser_schema(partial(_row, kept=self._kept), schema=inner)
        elif kind in ("model", "dataclass"):
            made["cls"] = _Exactly("Exactly", (), {"of": made["cls"]})
            inner = made["schema"]
            if inner["type"] == "model-fields" and made.get("config", {}).get("extra_fields_behavior") == "allow":
                inner["extra_behavior"] = "allow"
                inner.setdefault("extras_schema", any_schema(serialization=self._any))
        elif kind in _FIELDS:
            made["schema"] = _apart(made["schema"])
        elif kind == "computed-field":
            made["return_schema"] = any_schema(serialization=_KEPT) if self._kept else _apart(made["return_schema"])
        return made


def _apart(schema: dict[str, Any]) -> dict[str, Any]:
    """A field's schema, so that only the field is unknown if it can't be dumped."""
    if schema["type"] in _ATOMS and "serialization" not in schema:
        return schema
    if schema["type"] == "default" and "serialization" not in schema:  # it tells what the default is
        return {**schema, "schema": _apart(schema["schema"])}
    inner: Any = schema
    apart: Any = any_schema(serialization=wrap_serializer_function_ser_schema(_part, schema=inner))
    return cast("dict[str, Any]", apart)


def _part(held: Any, written: Callable[[Any], Any]) -> Any:
    try:
        return written(held)
    except PydanticSerializationUnexpectedValue:  # it is another one of a union
        raise
    except Exception:
        return UNKNOWN


def _plainly(function: Callable[..., Any], asks: bool, *given: Any) -> Any:
    """What a serializer makes of a value. One that can't write but JSON is told that it does."""
    try:
        return function(*given)
    except Exception:
        if not asks:
            raise
        *rest, info = given
        return function(*rest, _ForJson(info))


class _ForJson:
    """Tells a serializer that it writes JSON, and all else as it is."""

    mode = "json"

    def __init__(self, info: SerializationInfo) -> None:
        self._info = info

    def mode_is_json(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._info, name)


def _around(function: Callable[..., Any], at: int, *given: Any) -> Any:
    """What a serializer makes of what pydantic writes. One that can't but of JSON makes no sets: it counts as what it
    gets."""
    try:
        return function(*given)
    except (PydanticOmit, PydanticSerializationUnexpectedValue):
        raise
    except Exception as error:
        if "unhashable" in str(error):
            raise
        return given[at + 1](given[at])


def _row(held: Any, written: Callable[[Any], Any], *, kept: bool) -> Any:
    if isinstance(held, list):  # in place of a set or tuple, which pydantic writes as undeclared
        return _undeclared(held, kept=kept)
    if not isinstance(held, set | frozenset):
        return written(held)
    return _set_of(written([*cast("Set[object]", held)]))


def _set_of(items: Sequence[Any]) -> Any:
    try:
        return frozenset(items)
    except TypeError:
        return Unordered(items)


def _undeclared(held: Any, *, kept: bool) -> Any:
    """A value whose type nobody has declared is written by that which it has."""
    with suppress(Exception):
        if not kept:
            return _ANY.to_python(held, warnings=False)
    if isinstance(held, list | tuple):
        return [_undeclared(item, kept=kept) for item in cast("Sequence[object]", held)]
    if isinstance(held, set | frozenset):
        return _set_of([_undeclared(item, kept=kept) for item in cast("Set[object]", held)])
    if hasattr(class_of(held), "__pydantic_core_schema__"):
        return _stand_in(held, kept=kept)
    if entries := entries_of(held):
        return {name: _undeclared(item, kept=kept) for name, item in entries.items()}
    return held if kept else UNKNOWN


_ANY = SchemaSerializer(any_schema())
_KEPT = plain_serializer_function_ser_schema(lambda _: UNKNOWN)


def held_by(value: BaseModel) -> dict[str, Any]:
    """A model's fields and extra values."""
    declared = {name: item for name, item in value.__dict__.items() if name in type(value).model_fields}
    return {**declared, **(value.__pydantic_extra__ or {})}


def entries_of(held: Any) -> Mapping[Any, Any]:
    """What is in a dict, a model or a dataclass, by name."""
    if isinstance(held, BaseModel):
        return held_by(held)
    if isinstance(held, dict):
        return cast("dict[object, object]", held)
    if is_dataclass(cast("object", held)) and not isinstance(held, type):
        return {field.name: getattr(held, field.name) for field in fields(held) if hasattr(held, field.name)}
    return {}
