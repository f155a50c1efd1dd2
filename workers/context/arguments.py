"""Arguments: the digest of what a step, effect, question or fan-out is called with, by which a replay knows it again.

Models count as their JSON, as everything that older releases have recorded: their workers may go on with the same job.
What JSON lacks counts as it is. Arguments need not be storable: of an object that is not, only its class counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import suppress
from copy import copy
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any, TypeAlias, cast

from pydantic import BaseModel
from pydantic_core import to_json

from ...contracts.codec import pack, try_pack
from ...contracts.contract import Contract
from ...contracts.upcasting import before_upcast

_ATOMS = frozenset({str, int, float, bool, bytes, type(None)})
Form: TypeAlias = Callable[[BaseModel], Any]
"""What a model counts as."""


def digest_of(arguments: object) -> bytes:
    """Differs between arguments that differ as JSON."""
    return _digest(arguments, _as_json)


def same(recorded: bytes, digest: bytes, arguments: object) -> bool:
    """Whether a record has these arguments, given by their digest, also if an older release has recorded it."""
    return recorded == digest or recorded in older_digests(arguments)


def older_digests(arguments: object) -> tuple[bytes, ...]:
    """The digests that these arguments may have if an older release has recorded them: one of the app, with older
    contracts, or one of Batonpass, which wrote sets in any order."""
    return tuple(_older(arguments))


def _older(arguments: object) -> Iterator[bytes]:
    for form in (_as_stored, _as_written):
        with suppress(Exception):  # some have no such form, so no record has it
            yield _digest(arguments, form)


def _digest(arguments: object, form: Form) -> bytes:
    return blake2b(pack(_plain(arguments, form)), digest_size=16).digest()


def _plain(value: object, form: Form) -> Any:
    """Arguments reduced to what can be compared in another process: values by value, other objects by type."""
    if isinstance(value, BaseModel):
        return form(value)
    if isinstance(value, dict):
        return [[_plain(key, form), _plain(item, form)] for key, item in cast("dict[object, object]", value).items()]
    if isinstance(value, list | tuple):
        return [_plain(item, form) for item in cast("Sequence[object]", value)]
    if isinstance(value, set | frozenset):
        return sorted(pack(_plain(item, form)) for item in cast("Set[object]", value))
    return value if try_pack(value) is not None else f"<{type(value).__module__}.{type(value).__qualname__}>"


def _as_json(value: BaseModel) -> Any:
    with suppress(Exception):  # its own serializers may raise anything
        text = value.model_dump_json(warnings=False)  # refuses circles
        return cast("BaseModel", _in_order(value, {})).model_dump_json(warnings=False) if _has_sets(value) else text
    return _plain(_held(value), _as_json)


def _as_stored(value: BaseModel) -> Any:
    """With the values that an upcast contract was stored with."""
    older = before_upcast(value) if isinstance(value, Contract) else None
    if older is None:
        return _as_json(value)
    with suppress(ValueError):  # of a `State`, which may hold more than JSON does
        return to_json(older).decode()
    return _plain(older, _as_json)


def _as_written(value: BaseModel) -> str:
    older = before_upcast(value) if isinstance(value, Contract) else None
    return value.model_dump_json() if older is None else to_json(older).decode()


def _has_sets(value: BaseModel) -> bool:
    """Whether it holds a set whose order matters. (Much quicker than to put all in order.)"""
    left: list[Any] = [value]
    seen: set[int] = set()  # JSON leaves fields out that may lead back here
    while left:
        held = left.pop()
        if type(held) in _ATOMS or id(held) in seen:
            continue
        seen.add(id(held))
        if isinstance(held, BaseModel):
            left += held.__dict__.values()
            left += (held.__pydantic_extra__ or {}).values()
        elif isinstance(held, dict):
            left += cast("dict[object, object]", held).values()
        elif isinstance(held, list | tuple):
            left += cast("Sequence[object]", held)
        elif isinstance(held, set | frozenset) and len(cast("Set[object]", held)) > 1:
            return True
        elif is_dataclass(cast("object", held)):
            left += _attributes(cast("object", held)).values()
    return False


def _in_order(held: Any, done: dict[int, Any]) -> Any:
    """The same with sets as lists, because their order is another one in each process. What has no sets stays as it is:
    classes write their values as they like. So does what leads back to what is being `done`: JSON leaves that out."""
    if type(held) in _ATOMS:
        return held
    if id(held) not in done:
        done[id(held)] = held
        done[id(held)] = _ordered(held, done)
    return done[id(held)]


def _ordered(held: Any, done: dict[int, Any]) -> Any:
    if isinstance(held, set | frozenset):
        items = cast("Set[object]", held)
        return sorted(items, key=lambda item: pack(_plain(item, _as_json))) if len(items) > 1 else items
    if isinstance(held, list | tuple):
        row = cast("Sequence[object]", held)
        new = [_in_order(item, done) for item in row]
        return new if any(one is not other for one, other in zip(new, row, strict=True)) else row
    entries = _entries(held)
    changed = {key: new for key, item in entries.items() if (new := _in_order(item, done)) is not item}
    return _with(held, entries, changed) if changed else held


def _entries(held: Any) -> dict[Any, Any]:
    """What is in a dict, a model or a dataclass, by name."""
    if isinstance(held, BaseModel):
        return _held(held)
    if is_dataclass(cast("object", held)):
        return _attributes(held)
    return held if isinstance(cast("object", held), dict) else {}


def _with(held: Any, entries: dict[Any, Any], changed: dict[Any, Any]) -> Any:
    if isinstance(held, BaseModel):
        return held.model_copy(update=changed)
    if isinstance(held, dict):
        return {**entries, **changed}
    made = copy(held)
    for name, item in changed.items():
        object.__setattr__(made, name, item)  # it may be frozen
    return made


def _attributes(held: object) -> dict[str, Any]:
    names = [field.name for field in fields(cast("Any", held))]
    return {name: getattr(held, name) for name in names if hasattr(held, name)}


def _held(value: BaseModel) -> dict[str, Any]:
    declared = {name: item for name, item in value.__dict__.items() if name in type(value).model_fields}
    return {**declared, **(value.__pydantic_extra__ or {})}
