"""Wrapped: a value in a state that LangGraph's serializer carries, because our codec does not know its type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, cast

import msgpack

from ....contracts.builtin_types import class_of
from ....contracts.codec import unpack
from ....contracts.errors import Corrupted
from ....contracts.opaque import Opaque
from ....contracts.state_types import state_type
from .registered import RESTORED

# LangGraph's codes for arrays, and for a delta channel's value. All others stand for an object: its module, its name,
# what it is made of, and perhaps by which method.
_ARRAY, _DELTA = 6, 7
# What of Python's own is plain, or a text, and is stored as several arguments.
_PYTHONS = frozenset({"datetime", "pathlib", "pathlib._local"})
_PLAIN: dict[str, Callable[..., Any]] = {
    "date": dt.date,
    "timedelta": dt.timedelta,
    "PosixPath": lambda *parts: str(PurePosixPath(*parts)),
    "WindowsPath": lambda *parts: str(PureWindowsPath(*parts)),
}
# Objects in objects. Reading each takes some 40 KB of the thread's stack, and a process that has no more dies.
_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Wrapped(Opaque):
    """What the serializer made of a value. `types` has the module and name of each type that restoring it needs.

    Reading it restores nothing. A saver does that, with the types that it allows.
    """

    kind: str
    data: bytes
    types: tuple[tuple[str, str], ...] = ()

    @property
    def type_name(self) -> str:  # type: ignore[override]
        """The types that it holds."""
        return ", ".join(".".join(name) for name in self.types) or self.kind

    @property
    def packed(self) -> bytes:  # type: ignore[override]
        """As LangGraph's serializer wrote it."""
        return self.data

    @property
    def value(self) -> Any:
        """What it holds, as plain values; `Corrupted` if it can't be read."""
        return _held(self)

    @property
    def closed(self) -> str:
        """Why nothing in it can be changed, and what to do."""
        return "only its graph can make that: register the class with @bp.state_type, or use the graph's update_state"

    def __repr__(self) -> str:
        return f"<{self.type_name}, {len(self.data)} bytes>"


def contents(value: Any) -> Any:
    """The value with what each `Wrapped` in it holds, as plain values: an object's fields. Makes no object, and needs
    no LangGraph."""
    kind = class_of(value)
    if kind is Wrapped:
        return _held(value)
    if kind is list:
        return [contents(item) for item in value]
    if kind is tuple:
        return tuple(contents(item) for item in value)
    if kind is dict:
        return {_as_key(contents(key)): contents(item) for key, item in value.items()}
    return value


def _as_key(value: Any) -> Any:
    """The value as a dict's key: what an object held that was one is a dict or a list now."""
    if class_of(value) is dict:
        return tuple((_as_key(key), _as_key(item)) for key, item in value.items())
    if class_of(value) in (list, tuple):
        return tuple(map(_as_key, value))
    return value


def _held(value: Wrapped) -> Any:
    if value.kind != "msgpack":
        return None if value.kind == "null" else value.data
    try:
        return _unpacked(value.data)
    except (ValueError, TypeError, LookupError, ArithmeticError, msgpack.UnpackException) as error:
        raise Corrupted(f"a stored LangGraph value, {value!r}, can't be read: {error}") from None


def _unpacked(data: bytes, code: int = _DELTA, room: int = _DEEPEST) -> Any:
    if not room:
        raise ValueError(f"it holds objects in objects, more than {_DEEPEST} deep")
    found = msgpack.unpackb(
        data,
        ext_hook=lambda code, data: _unpacked(data, code, room - 1),
        object_pairs_hook=lambda pairs: {_as_key(key): item for key, item in pairs},
        strict_map_key=False,
    )
    if code == _DELTA:
        return found
    parts = cast("Sequence[Any]", found)  # of damaged data anything, so that an error is what says so
    if code == _ARRAY:
        return _numbers(*parts)
    module, name, held = parts[:3]
    if (module, name) == RESTORED:
        return unpack(held)
    return _PLAIN[name](*held) if module in _PYTHONS and name in _PLAIN else held


def _numbers(dtype: str, shape: Sequence[int], order: Any, data: bytes) -> Any:
    """An array's items as lists."""
    try:
        import numpy as np
    except ImportError:
        raise ValueError("it holds an array, which takes numpy to read: pip install numpy") from None
    return np.frombuffer(data, np.dtype(dtype)).reshape(shape, order=order).tolist()


def _dump(value: Wrapped) -> list[Any]:
    return [value.kind, value.data, [[*name] for name in value.types]]


def _load(stored: Any) -> Wrapped:
    kind, data, types = stored
    found = bytes(memoryview(data))  # bytes() of a number would be as many zeros
    return Wrapped(str(kind), found, tuple((str(module), str(name)) for module, name in types))


def register() -> None:
    """Register it, so that a timeline or a diff can show states that hold it. Does not import LangGraph."""
    state_type("langgraph.value", Wrapped, dump=_dump, load=_load)


register()
