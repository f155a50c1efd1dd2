"""Values: how the values of a graph's channels and tasks are saved and restored."""

from __future__ import annotations

import dataclasses
import sys
from collections import deque
from collections.abc import Callable, Collection
from enum import Enum
from pathlib import PurePath
from typing import Any, cast

import ormsgpack
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.constants import START
from langgraph.types import Send
from pydantic import BaseModel

from ....contracts.builtin_types import class_of
from ....contracts.codec import pack, try_pack
from ....contracts.errors import Corrupted, Unserializable
from ....contracts.state_types import is_state_type
from ..internals import CALL, SAFE_MSGPACK_TYPES, encoder
from .changed import changed
from .copying import copy_containers
from .endless import refusal
from .plain import ATOMS, BASES, NotPlain, as_base, items, plain
from .registered import RESTORED, is_registered, opaque, restoring

Sealed = list[Any]
"""A value that comes back as it was: ["plain", value], or [kind, bytes, types] of LangGraph's serializer."""

TypeName = tuple[str, ...]
"""A type's module and name."""

Encode = Callable[[Any], bytes]

_ARRAY = ("numpy", "ndarray")
# A subclass of one of these is written as its base, as LangGraph does it.
_FLAT: tuple[type[Any], ...] = (str, int, list, dict)
# What LangGraph's serializer writes.
KINDS = frozenset({"null", "bytes", "bytearray", "msgpack"})
# Also safe: a compiled pattern's class (which is not its constructor), and numpy's arrays (which have a code instead of
# a name).
_KNOWN = SAFE_MSGPACK_TYPES | {
    ("builtins", "tuple"),
    ("builtins", "bytearray"),
    ("re", "Pattern"),
    _ARRAY,
}
# Where the input of a graph is, and of `update_state` in its name.
_INPUTS = (f"state[{START!r}]", f"what a node wrote to {START!r}")
# These are in models, whose dumps have them as they are. They run no code either.
_SECRETS = (("pydantic.types", "SecretStr"), ("pydantic.types", "SecretBytes"))


class Values:
    """Saves and restores values.

    Restores objects only if their type is safe, declared by the graph, or registered (`batonpass.state_type`). For
    other objects, LangGraph's serializer returns their fields. Here that is an error: at save if it can be known then,
    else at load. `advice` says how to make a type restorable.
    """

    def __init__(
        self, declared: Collection[TypeName], *, advice: str = "name the type in the graph's state schema"
    ) -> None:
        self._advice = advice
        self.declared: frozenset[TypeName] = frozenset({RESTORED})
        self.allow(declared)

    def allow(self, declared: Collection[TypeName]) -> None:
        """Allow more types to be restored."""
        self.declared |= set(declared)
        self.serde = JsonPlusSerializer(allowed_msgpack_modules=(*self.declared, *_SECRETS))

    def seal(self, value: Any, path: str, known: Sealed | None = None) -> Sealed:
        """The value in a form that `open` undoes. `Unserializable` if that is not possible.

        `known` is what it was sealed as before. If that is what it is still, its objects are not made again to compare
        them: that takes most of the time, and runs the user's validators.
        """
        value = copy_containers(value)
        try:
            return ["plain", plain(value)]
        except NotPlain:
            return self._as_known(value, path, known) or self.whole(value, path)
        except RecursionError:
            raise refusal(path) from None

    def _as_known(self, value: Any, path: str, known: Sealed | None) -> Sealed | None:
        """The value as it was sealed before, if it is still the same. (A node may have changed it in place.)"""
        forms = (_most, _least) if known and known[0] != "plain" else ()
        found = (self._dump(value, path, encode) for encode in forms)
        return next((sealed for sealed in found if known and sealed[:2] == known[:2]), None)

    def whole(self, value: Any, path: str) -> Sealed:
        """A value of any kind as LangGraph's serializer writes it. `Unserializable` as in `seal`.

        The serializer makes objects anew from what they show of themselves, without a word of what it could not set.
        If that makes something else of one, our codec writes the objects of registered classes that it can pack, which
        keeps them as they are. (Not always: workers of older releases can't read that.)
        """
        sealed = self._dump(value, path, _most)
        if self._changed(value, sealed, path, whole=True) is None:
            return sealed
        sealed = self._dump(value, path, _least)
        where = self._changed(value, sealed, path)
        if where is None:
            return sealed
        advice = _not_packed(value, path, where) or (
            "register its class, and those of the models around it, with @batonpass.state_type, which keeps all fields "
            "as they are, or keep plain values"
        )
        raise Unserializable(
            f"{where} would come back as something else, because LangGraph's serializer makes objects anew from "
            f"their dumps: {advice}",
            path=where,
        )

    def _dump(self, value: Any, path: str, encode: Encode) -> Sealed:
        types: set[TypeName] = set()
        try:
            self._check(value, path, types)
            kind, data = self._dumped(value, path, encode)
        except RecursionError:
            raise refusal(path) from None
        if RESTORED[0].encode() in data:
            types.add(RESTORED)  # a worker of a release that can't restore it says so, and does not take bytes for it
        return [kind, bytes(data), sorted(types)]

    def _dumped(self, value: Any, path: str, encode: Encode) -> tuple[str, bytes]:
        try:
            return self._typed(value, encode)
        except (TypeError, ValueError) as error:
            where, reason = self._at_fault(value, path, error)
            raise Unserializable(
                f"{where} can't be saved: {reason}. Convert it to plain values first", path=where
            ) from None

    def _typed(self, value: Any, encode: Encode) -> tuple[str, bytes]:
        if value is None or isinstance(value, bytes | bytearray):
            return self.serde.dumps_typed(value)
        return "msgpack", encode(value)

    def open(self, sealed: Sealed) -> Any:
        """The value that was sealed, as a new copy. `Corrupted` if this process can't restore it."""
        kind, data, *types = sealed
        if kind == "plain":
            return plain(data)
        if kind not in KINDS:
            raise Corrupted(f"a stored LangGraph value is of kind {kind!r}, which is never written")
        missing = self.missing(types[0])
        if missing:
            raise Corrupted(
                f"the graph's saved state holds a {'.'.join(missing)}, which the graph does not declare any more: "
                "run this job with the code that saved it, or, if the class has moved, import it in its old module too"
            )
        return self.load(kind, data, types[0])

    def missing(self, types: Collection[TypeName]) -> TypeName | None:
        """One of the types that may not be restored, or that this process does not have."""
        for module, name in types:
            found = getattr(sys.modules.get(module), name, None)
            if found is None or not ((module, name) in self.declared or self._has_moved(found) or is_state_type(found)):
                return module, name
        return None

    def _has_moved(self, found: Any) -> bool:
        """Whether what an old name leads to is a declared class that has a new name by now."""
        if not isinstance(found, type) or (found.__module__, found.__name__) not in self.declared:
            return False
        return getattr(sys.modules.get(found.__module__), found.__name__, None) is found

    def load(self, kind: str, data: bytes, types: Collection[TypeName]) -> Any:
        """Restore what LangGraph's serializer was given. None of the types may be `missing`."""
        registered = {(module, name) for module, name in types} - self.declared
        serde = self.serde.with_msgpack_allowlist(registered) if registered else self.serde
        return restoring(lambda: serde.loads_typed((kind, data)))

    def _changed(self, value: Any, sealed: Sealed, path: str, *, whole: bool = False) -> str | None:
        """Where a value with objects of the user's classes would come back as something else than was sealed.

        The input of a graph may: it is only read back if the process dies before the first node, and most graphs with a
        model as their state are given one with messages, which come back as their base class.
        """
        kind, data, types = sealed
        if not types or (isinstance(value, Enum) and not whole) or path.startswith(_INPUTS):
            return None
        try:
            return changed(value, self.load(kind, data, types), path, whole=whole)
        except RecursionError:  # it was read back, so it is only nested too deep to be compared
            return None

    def _check(self, value: Any, path: str, found: set[TypeName]) -> None:
        """Collect the types of objects; refuse those that would come back as something else."""
        kind = class_of(value)
        if kind in ATOMS or opaque(value):
            return
        name = (kind.__module__, kind.__name__)
        if (isinstance(value, Enum) or not isinstance(value, (*BASES, PurePath))) and name not in _KNOWN:
            self._check_type(kind, path)
            found.add(name)
        if name == _ARRAY:
            _check_array(value, path)
        for where, part in _parts(value, _written(value)):
            self._check(part, path + where, found)

    def _check_type(self, kind: type[Any], path: str) -> None:
        where = f"{kind.__module__}.{kind.__qualname__}"
        if (kind.__module__, kind.__name__) not in self.declared and not is_state_type(kind):
            raise Unserializable(
                f"{path} is a {where}, which could not be restored: {self._advice}, register it with "
                "@batonpass.state_type, or keep plain values",
                path=path,
            )
        if getattr(sys.modules.get(kind.__module__), kind.__name__, None) is not kind:
            raise Unserializable(
                f"{path} is a {where}, which could not be restored: define the class at the top level of its module",
                path=path,
            )

    def _at_fault(self, value: Any, path: str, error: Exception) -> tuple[str, Exception]:
        """The innermost part of a value that the serializer refuses, and its error."""
        if opaque(value):
            pack(value, path=path)  # raises what its function did
        fields = list(value.__dict__) if isinstance(value, BaseModel) else _written(value)
        for where, part in _parts(value, fields):
            try:
                self._typed(part, _most)
            except (TypeError, ValueError) as inner:
                return self._at_fault(part, path + where, inner)
        return path, error


def _encoder(packed: Callable[[Any], bytes | None]) -> Encode:
    """Writes a value as LangGraph's serializer, but objects that our codec has `packed` as that does."""

    def own(value: Any) -> Any:
        data = packed(value)
        if data is not None:
            return ormsgpack.Ext(CALL, ormsgpack.packb((*RESTORED, data)))
        base = None if isinstance(value, Enum) else next((base for base in _FLAT if isinstance(value, base)), None)
        return None if base is None else as_base(base, value)

    return encoder(own)


# With as many objects as it knows written by LangGraph's serializer, and with as few.
_most = _encoder(lambda value: pack(value) if opaque(value) else None)
_least = _encoder(lambda value: try_pack(value) if is_registered(value) else None)


def _check_array(array: Any, path: str) -> None:
    """Refuse an array that would come back empty, or without its fields."""
    if array.dtype.hasobject or array.dtype.names:
        raise Unserializable(
            f"{path} is an array of {array.dtype}, which could not be restored: keep lists, or an array for each field",
            path=path,
        )


def _not_packed(value: Any, path: str, where: str) -> str:
    """Why our codec does not keep the registered object in which a place is. Empty if there is none."""
    if is_registered(value):
        try:
            pack(value, path=path)
        except Unserializable as error:
            return f"its class is registered, which would keep all fields as they are, but {error}"
        return ""
    inner = [(path + at, part) for at, part in _parts(value, _written(value)) if where.startswith(path + at)]
    return next(filter(None, (_not_packed(part, at, where) for at, part in inner)), "")


def _parts(value: Any, attributes: Collection[str]) -> list[tuple[str, Any]]:
    """The parts of a value, each with its place as code writes it."""
    if isinstance(value, dict):
        return [(f"[{key!r}]", item) for key, item in items(value)]
    if isinstance(value, list | tuple | set | frozenset | deque):
        return [(f"[{number}]", item) for number, item in enumerate(cast("Collection[Any]", value))]
    return [(f".{attribute}", getattr(value, attribute)) for attribute in attributes]


def _written(value: Any) -> list[str]:
    """The attributes that the serializer writes one by one, with their types. (It writes a pydantic model whole.)"""
    if isinstance(value, Send):
        return ["arg"]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [field.name for field in dataclasses.fields(value)]
    return []
