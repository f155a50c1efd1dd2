"""Shapes: how a value of a registered class becomes plain values, and comes back.

Fields are stored and restored as they are. No constructor or validator of the class runs, so it does not matter what
they would change or refuse the second time. They only run if the class has new fields that have no default, or that
its model validators may know something about.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Protocol, cast

from pydantic import BaseModel
from pydantic_core import PydanticUndefined, from_json

from .alike import alike, own
from .builtin_types import NotPlain, class_of
from .fitting import Fitting, Whole

Parts = Iterable[tuple[str, Any]]
_MAYBE = (dict, type(None))


class Shape(Protocol):
    """Dumps and loads the values of one class."""

    def forms(self, value: Any) -> Iterable[Callable[[], Any]]:
        """Ways to dump the value, best first: the first whose result can be packed is stored."""
        ...

    def load(self, stored: Any) -> Any: ...

    def parts(self, value: Any) -> Parts:
        """The parts of the value, with how to write the place of each, to find the one that can't be packed."""
        ...


class Fielded(Shape, Protocol):
    """The shape of a class whose values have fields."""

    def replaced(self, value: Any, name: str, part: Any) -> Any:
        """A copy with another part by that name, which nothing checks. All else stays as the value holds it."""
        ...


def fields_of(stored: Any) -> dict[str, Any]:
    """The parts of a pydantic model's stored form, by name."""
    if isinstance(stored, str):
        return cast("dict[str, Any]", from_json(stored))
    fields, _, extra, *_ = cast("Any", (stored, (), None) if isinstance(stored, dict) else stored)
    return {**fields, **(extra or {})}


def seen_fields(stored: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The fields and the private attributes in the stored form of what is, as far as can be seen, a pydantic model, a
    dataclass or a NamedTuple of an unknown class."""
    if class_of(stored) is str and stored.startswith("{"):  # as a model is stored whose fields are not plain
        with suppress(ValueError):
            return fields_of(stored), {}
    if class_of(stored) is list and len(stored) == 4:
        fields, unset, *others = stored
        if class_of(fields) is dict and class_of(unset) is list and all(class_of(each) in _MAYBE for each in others):
            extra, private = (cast("dict[str, Any]", each or {}) for each in others)
            if not extra.keys() & fields.keys() and all(name in fields or name in extra for name in unset):
                return {**fields, **extra}, private
    if class_of(stored) is dict and all(class_of(name) is str for name in stored):
        return stored, {}
    return None


def shape_of(kind: type[Any]) -> Shape | None:
    """The shape of a class that itself tells what its values consist of."""
    if issubclass(kind, enum.Enum):
        return _Members(kind)
    if shape := fielded(kind):
        return shape
    if hasattr(kind, "_fields") and issubclass(kind, tuple):
        return _Named(kind)
    return None


def fielded(kind: type[Any]) -> Fielded | None:
    """The shape of a pydantic model or a dataclass."""
    if issubclass(kind, enum.Enum):
        return None
    if issubclass(kind, BaseModel):
        return _Model(kind)
    return _Dataclass(kind) if dataclasses.is_dataclass(kind) else None


@dataclasses.dataclass(frozen=True)
class Custom:
    """A class with functions of its own."""

    dump: Callable[[Any], Any]
    undump: Callable[[Any], Any]

    def load(self, stored: Any) -> Any:
        return self.undump(stored)

    def forms(self, value: Any) -> Iterable[Callable[[], Any]]:
        yield lambda: self._dumped(value)

    def parts(self, value: Any) -> Parts:
        yield "", self.dump(value)

    def _dumped(self, value: Any) -> Any:
        try:
            return self.dump(value)
        except Exception as error:  # the function is the user's, and the refusal names the value
            raise NotPlain(f"dump= of its class raised {type(error).__name__}: {error}") from error


@dataclasses.dataclass(frozen=True)
class _Members:
    """An Enum, by its members' names; a Flag by its value, which may be of several members."""

    kind: Any

    def forms(self, value: Any) -> Iterable[Callable[[], Any]]:
        yield lambda: value.value if isinstance(value, enum.Flag) else value.name

    def load(self, stored: Any) -> Any:
        if issubclass(self.kind, enum.Flag):
            return self.kind(stored)
        if stored not in self.kind.__members__:
            raise ValueError(f"it has no member {stored!r}")
        return self.kind[stored]

    def parts(self, value: Any) -> Parts:
        return ()


@dataclasses.dataclass(frozen=True)
class _Named:
    """A NamedTuple."""

    kind: Any

    def forms(self, value: Any) -> Iterable[Callable[[], Any]]:
        yield lambda: dict(zip(self.kind._fields, value, strict=True))

    def load(self, stored: Any) -> Any:
        if tuple(stored) == self.kind._fields:
            return self.kind._make(stored.values())
        return self.kind(**{name: item for name, item in stored.items() if name in self.kind._fields})

    def parts(self, value: Any) -> Parts:
        return ((f".{name}", item) for name, item in zip(self.kind._fields, value, strict=True))


@dataclasses.dataclass(frozen=True)
class _Dataclass:
    """A dataclass: its fields, and whatever else the instance has."""

    kind: Any

    def _values(self, value: Any) -> dict[str, Any]:
        names = [field.name for field in dataclasses.fields(self.kind)]
        if missing := [name for name in names if not hasattr(value, name)]:
            raise NotPlain(f"its field {missing[0]!r} was never set")
        return own(value)

    def forms(self, value: Any) -> Iterable[Callable[[], Any]]:
        yield lambda: self._values(value)

    def load(self, stored: Any) -> Any:
        value = object.__new__(self.kind)
        fields = {field.name: field for field in dataclasses.fields(self.kind)}
        for name, item in stored.items():
            if name in fields:
                object.__setattr__(value, name, item)
            elif hasattr(value, "__dict__") and isinstance(name, str) and not name.startswith("__"):
                value.__dict__[name] = item
        for name, field in fields.items():
            if name not in stored:
                object.__setattr__(value, name, _default(field))
        return value

    def parts(self, value: Any) -> Parts:
        return ((f".{name}", item) for name, item in self._values(value).items())

    def replaced(self, value: Any, name: str, part: Any) -> Any:
        return self.load({**self._values(value), name: part})


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    raise ValueError(f"{field.name}: the field is new and has no default")


@dataclasses.dataclass(frozen=True)
class _Model:
    """A pydantic model: its fields as they are, or as JSON if that is exact and they are not plain."""

    kind: type[BaseModel]

    def _whole(self, value: BaseModel) -> Whole:
        names = type(value).model_fields
        fields = {name: item for name, item in value.__dict__.items() if name in names}
        if len(fields) != len(names):
            raise NotPlain(f"its field {next(name for name in names if name not in fields)!r} was never set")
        extra, private = value.__pydantic_extra__, value.__pydantic_private__
        unset = [name for name in (*fields, *(extra or ())) if name not in value.__pydantic_fields_set__]
        return fields, unset, extra, private

    def _short(self, value: BaseModel) -> Any:
        fields, *others = self._whole(value)
        return [fields, *others] if any(others) else fields

    def _json(self, value: BaseModel) -> str:
        try:
            text = value.model_dump_json(by_alias=False, round_trip=True, warnings=False)
            exact = alike(value, self.load(text))
        except Exception as error:
            raise NotPlain(str(error)) from None
        if not exact:
            raise NotPlain("it does not come back equal from JSON")
        return text

    def forms(self, value: Any) -> Iterable[Callable[[], Any]]:
        yield lambda: self._short(value)
        yield lambda: self._json(value)

    def load(self, stored: Any) -> Any:
        if isinstance(stored, str):
            return self.kind.model_validate_json(stored, by_alias=False, by_name=True)
        fields, unset, extra, private = cast("Any", (stored, (), None, None) if isinstance(stored, dict) else stored)
        if fields.keys() != self.kind.model_fields.keys():
            fields, unset, extra, private = self._fitting.fit(fields, unset, extra or {}, private or {})
        if extra is None and self.kind.model_config.get("extra") == "allow":
            extra = {}
        if own := self.kind.__private_attributes__:
            found: dict[str, Any] = {**(private or {})}
            found |= {name: about.get_default() for name, about in own.items() if name not in found}
            private = {name: item for name, item in found.items() if item is not PydanticUndefined}
        value = self.kind.__new__(self.kind)
        state: dict[str, Any] = {"__dict__": fields, "__pydantic_extra__": extra, "__pydantic_private__": private}
        BaseModel.__setstate__(value, {**state, "__pydantic_fields_set__": {*fields, *(extra or ())} - {*unset}})
        return value

    @cached_property
    def _fitting(self) -> Fitting:
        return Fitting(self.kind)

    def parts(self, value: BaseModel) -> Parts:
        fields = {name: item for name, item in value.__dict__.items() if name in self.kind.model_fields}
        held: list[Mapping[str, Any] | None] = [fields, value.__pydantic_extra__, value.__pydantic_private__]
        return ((f".{name}", item) for each in held for name, item in (each or {}).items())

    def replaced(self, value: BaseModel, name: str, part: Any) -> BaseModel:
        fields, unset, extra, private = self._whole(value)
        new = [held and {**held, **({name: part} if name in held else {})} for held in (fields, extra, private)]
        return cast("BaseModel", self.load([new[0], [each for each in unset if each != name], *new[1:]]))
