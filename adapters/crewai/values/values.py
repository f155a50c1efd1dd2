"""Values: what a flow's methods return, as plain values, and back as the classes that the flow's code declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json

from ....contracts.codec import pack
from ....contracts.errors import Corrupted, Unserializable
from .contract_versions import Present, marks
from .declared_types import is_typed

_TYPE, _CONTRACTS = "$type", "contracts"


class Values:
    """Turns values into plain ones and back. An object of a declared class is stored as `{"$type": its name, ...}`. A
    name is only ever looked up among the declared classes. Contracts are stored with their versions, and upcast by
    `present`."""

    def __init__(self, types: Iterable[type], present: Present) -> None:
        self.present = present
        self._types = {_name(kind): kind for kind in types}

    def dump(self, value: Any, what: str) -> Any:
        """The value as plain values. `Unserializable` with `what` in its message if it could not come back equal."""
        try:
            dumped = self._dump(value, what)
        except RecursionError:
            raise Unserializable(
                f"{what} can't be saved: it contains itself, or too many layers. Convert it to plain values first",
                path=what,
            ) from None
        pack(dumped, path=what)
        return dumped

    def load(self, stored: Any) -> Any:
        """The value that `dump` was given."""
        kind = _class(stored)
        if kind is dict:
            fields: dict[Any, Any] = stored
            if _TYPE in fields:
                return self._load_typed(fields)
            return {key: self.load(item) for key, item in fields.items()}
        return _each(kind, stored, self.load) if kind in (list, tuple) else stored

    def _dump(self, value: Any, what: str) -> Any:
        kind = _class(value)
        if is_typed(kind):
            return self._dump_typed(kind, value, what)
        if kind is dict:
            items: dict[Any, Any] = {key: self._dump(item, what) for key, item in value.items()}
            return {_TYPE: "dict", "items": list(items.items())} if _TYPE in items else items
        return _each(kind, value, lambda item: self._dump(item, what)) if kind in (list, tuple) else value

    def _dump_typed(self, kind: type[Any], value: Any, what: str) -> Any:
        if self._types.get(_name(kind)) is not kind:
            raise Unserializable(
                f"{what} has a {_name(kind)}, which the flow's code does not name, so it could not be restored: "
                f"annotate the method (-> {kind.__qualname__}) or the state's field, or keep plain values",
                path=what,
            )
        for form in self._forms(kind):
            try:
                stored = {_TYPE: _name(kind), **form(value, what)}
                if found := marks(value):
                    stored[_CONTRACTS] = found
                if self._load_typed(stored) == value:
                    return stored
            except (ValueError, TypeError, AttributeError, Unserializable):  # this form is not for it
                continue
        raise Unserializable(
            f"{what} has a {_name(kind)} that does not come back equal from its fields: return plain values", path=what
        )

    def _forms(self, kind: type) -> list[Callable[[Any, str], dict[str, Any]]]:
        if issubclass(kind, Enum):
            return [lambda value, what: {"value": self._dump(value.value, what)}]
        by_field = self._by_field
        return [_as_json, by_field] if issubclass(kind, BaseModel) else [by_field]

    def _by_field(self, value: Any, what: str) -> dict[str, Any]:
        """Field by field, for what JSON loses: a field that holds a subclass of its annotation."""
        names = type(value).model_fields if isinstance(value, BaseModel) else [field.name for field in fields(value)]
        return {"fields": {name: self._dump(getattr(value, name), f"{what}.{name}") for name in names}}

    def _load_typed(self, stored: dict[str, Any]) -> Any:
        if stored[_TYPE] == "dict":
            return {key: self.load(item) for key, item in stored["items"]}
        kind = self._types.get(stored[_TYPE])
        if kind is None:
            raise Corrupted(
                f"a saved result is a {stored[_TYPE]}, which the flow's code does not name any more: "
                "put the class back to finish the jobs that started with it"
            )
        where = stored.get(_CONTRACTS, ())
        if "json" in stored:
            return revive(kind, self.present(stored["json"], where))
        if "value" in stored:
            return kind(self.load(stored["value"]))
        values = {name: self.load(item) for name, item in stored["fields"].items()}
        values = self.present(values, [mark for mark in where if not mark[0]])  # those inside are loaded already
        if issubclass(kind, BaseModel):
            if isinstance(values, kind):
                return values
            return kind.model_validate(values, by_alias=False, by_name=True)
        return kind(**values)


def plain(model: BaseModel) -> Any:
    """A model's fields as JSON's types, complete enough for `revive`."""
    return model.model_dump(mode="json", round_trip=True)


def revive(kind: Any, stored: Any) -> Any:
    """A model from what `plain` returned, or from itself."""
    if isinstance(stored, kind):
        return stored
    return kind.model_validate_json(to_json(stored), by_alias=False, by_name=True)


def _as_json(value: BaseModel, what: str) -> dict[str, Any]:
    return {"json": plain(value)}


def _class(value: object) -> Any:
    return type(value)


def _each(kind: Any, items: Any, change: Callable[[Any], Any]) -> Any:
    return kind(change(item) for item in items)


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
