"""Contract versions: which contracts plain values were made of, and such values as the contracts of now have them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from copy import copy
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json, to_jsonable_python

from ....contracts.agent import Agent
from ....contracts.app import App, apps
from ....contracts.contract import Contract, ContractRef, contract_ref

# Where a contract is in plain values, its name and its version. A pair of numbers in a path is a slice of a list.
Mark = list[Any]

_ATOMS = (str, int, float, bytes, type(None), dt.date, dt.time, dt.timedelta, Decimal, UUID, Enum)
_CONTAINERS = (list, dict, set, frozenset, Union, UnionType)
_KINDS = 1024


def marks(value: Any) -> list[Mark]:
    """Where contracts are in a value, once it is plain. A contract answers for those inside it, as in a payload."""
    kind: Any = value.__class__
    if issubclass(kind, Contract):
        ref = contract_ref(kind)
        return [[[], ref.name, ref.version]]
    return marks_inside(value)


def marks_inside(value: Any) -> list[Mark]:
    """`marks`, without the value itself: the class of a flow's state has versions of another kind."""
    found: list[Mark] = []
    for inner, run in groupby(((at, marks(item)) for at, item in _items(value)), key=itemgetter(1)):
        places = _places(value, [at for at, _ in run]) if inner else []
        found += ([[at, *path], name, version] for path, name, version in inner for at in places)
    return found


def _places(value: Any, where: list[Any]) -> list[Any]:
    """Where in a value contracts that are side by side are, once it is plain."""
    kind: Any = value.__class__
    if issubclass(kind, dict):
        return [key for at in where for key in _key(at)]
    return [[where[0], where[-1] + 1]] if len(where) > 1 and issubclass(kind, list | tuple) else where


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    """What is inside a value and may be a contract or have one. A state can be large, and is looked through at each
    save: so lists of numbers, or of models of such, are told by the types in them."""
    kind: Any = value.__class__
    if issubclass(kind, BaseModel):
        yield from ((name, getattr(value, name)) for name in _open_fields(kind))
    elif issubclass(kind, dict):
        if not _all_bare(value.values()):
            yield from value.items()
    elif issubclass(kind, list | tuple) and not _all_bare(value):
        yield from enumerate(value)


def _key(at: Any) -> list[str]:
    """A dict's key, once it is plain: an enum's value, a date's text. None if only the dict's own model can tell."""
    if type(at) in (str, int):
        return [str(at)]
    try:
        return list(to_jsonable_python({at: None}))
    except (ValueError, TypeError):
        return []


def _all_bare(items: Iterable[Any]) -> bool:
    return all(map(_is_bare, set(map(type, items))))


@lru_cache(_KINDS)
def _is_bare(kind: type) -> bool:
    """Whether values of this class are no contracts, and have none inside."""
    if issubclass(kind, BaseModel):
        return not issubclass(kind, Contract) and not _open_fields(kind)
    return not issubclass(kind, dict | list | tuple)


@lru_cache(_KINDS)
def _open_fields(kind: type[BaseModel]) -> tuple[str, ...]:
    """A model's fields that may hold contracts. Of fields with models, the values tell: they may be of subclasses.
    Excluded ones are not saved, and often lead back."""
    fields = kind.model_fields.items()
    return tuple(name for name, field in fields if not field.exclude and not _is_atomic(field.annotation))


def _is_atomic(annotation: Any) -> bool:
    """Whether these are only texts, numbers and the like, or lists and dicts of them."""
    origin = get_origin(annotation)
    if origin is None:
        return isinstance(annotation, type) and issubclass(annotation, _ATOMS)
    return origin is Literal or (origin in _CONTAINERS and all(map(_is_atomic, get_args(annotation))))


class Present:
    """Applies the upcasts of the app that has an agent."""

    def __init__(self, agent: Agent[Any]) -> None:
        self.state_version = agent.state_version
        self._apps = [app for app in apps() if any(each is agent for each in app)]

    def __call__(self, stored: Any, where: Iterable[Mark], *, migrated: bool = False) -> Any:
        """Plain values with the contracts in them as they are now, or the contract itself if they are one. (It knows
        what it was, which steps compare.) A migration may have brought them up already."""
        for path, name, version in where:
            ref = ContractRef(name, version)
            app = next((app for app in self._apps if app.present(ref)), None)
            if app is not None:
                stored = self._at(stored, path, app, ref, migrated)
        return stored

    def _at(self, stored: Any, path: list[Any], app: App, ref: ContractRef, migrated: bool) -> Any:
        if not path:
            return _raised(app, ref, stored, migrated) if issubclass(stored.__class__, dict) else stored
        first, *rest = path
        copied = copy(stored)
        for at in range(*first) if issubclass(first.__class__, list) else [first]:
            try:
                inner = stored[at]
                copied[at] = inner
            except (LookupError, TypeError):  # a person has edited it away
                break
            raised = self._at(inner, rest, app, ref, migrated)
            copied[at] = raised.model_dump(mode="json", round_trip=True) if isinstance(raised, Contract) else raised
        return copied


def _raised(app: App, ref: ContractRef, stored: Any, migrated: bool) -> Any:
    kind: Any = app.present(ref)
    values = to_jsonable_python(stored, bytes_mode="base64")
    if migrated and _fits(kind, values):
        return stored
    return app.upcast_values(kind, ref, values)


def _fits(kind: type[Contract], values: Any) -> bool:
    try:
        kind.model_validate_json(to_json(values), by_alias=False, by_name=True)
    except ValidationError:
        return False
    return True
