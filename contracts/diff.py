"""Diff: how two states differ, value by value."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum
from operator import itemgetter
from typing import Any, TypeAlias, cast

from pydantic import BaseModel

from .alike import alike
from .builtin_types import class_of
from .codec import pack
from .errors import BatonpassError, Unserializable
from .shapes import shape_of
from .state_types import UnknownValue

# Lists whose differing parts are longer than this are compared place by place: aligning takes the square of it.
_ALIGNED = 2000


@dataclass(frozen=True, slots=True)
class Change:
    """A place where two states differ. `old` is None if something was added, `new` if it was removed.

    `path` is written as in Python: `state['messages'][3]['text']`. For what was removed, it is the place in the old
    state.
    """

    path: str
    old: Any = None
    new: Any = None


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes from one state to another."""

    added: tuple[Change, ...] = ()
    removed: tuple[Change, ...] = ()
    changed: tuple[Change, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.added or self.removed or self.changed)

    def lines(self, width: int = 100) -> Iterator[str]:
        """The changes as text: `-` was removed, `+` was added, `~` was changed."""
        for change in self.removed:
            yield f"- {change.path}: {_clip(repr(change.old), width)}"
        for change in self.added:
            yield f"+ {change.path}: {_clip(repr(change.new), width)}"
        for change in self.changed:
            yield f"~ {change.path}: {_both(change.old, change.new, width)}"


def diff(old: Any, new: Any, path: str = "state") -> Diff:
    """Compare two values. Types count (1 is not True), the order of a dict's keys doesn't, and nan equals nan."""
    return _Comparison(path).run(old, new)


_Pair: TypeAlias = tuple[str, Any, Any]
_Entries: TypeAlias = dict[object, tuple[str, Any]]  # what lies in a value: how its place is written, and it


class _Comparison:
    """One diff being made. What is left to compare stands in a list, so that deep states need no deep stack."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._added: list[Change] = []
        self._removed: list[Change] = []
        self._changed: list[Change] = []

    def run(self, old: Any, new: Any) -> Diff:
        left: list[_Pair] = [(self._path, old, new)]
        while left:
            left += reversed(list(self._compare(*left.pop())))
        return Diff(tuple(self._added), tuple(self._removed), tuple(self._changed))

    def _compare(self, path: str, old: Any, new: Any) -> Iterator[_Pair]:
        """Note how two values differ; gives the pairs inside of them that are to be compared next."""
        if type(old) is not type(new):
            self._changed.append(Change(path, old, new))
        elif issubclass(type(old), dict):
            yield from self._entries(path, _items(old), _items(new))
        elif isinstance(old, list | tuple):
            yield from self._sequences(path, list(cast("list[Any]", old)), list(cast("list[Any]", new)))
        elif isinstance(old, set | frozenset):
            self._sets(path, cast("set[Any]", old), cast("set[Any]", new))
        elif (fields := _fields(old)) is not None:
            yield from self._entries(path, fields, _fields(new) or {})
        elif not alike(old, new):
            self._changed.append(Change(path, old, new))

    def _entries(self, path: str, before: _Entries, after: _Entries) -> Iterator[_Pair]:
        self._removed += [Change(path + at, old=value) for mark, (at, value) in before.items() if mark not in after]
        for mark, (at, value) in after.items():
            if mark in before:
                yield path + at, before[mark][1], value
            else:
                self._added.append(Change(path + at, new=value))

    def _sequences(self, path: str, old: list[Any], new: list[Any]) -> Iterator[_Pair]:
        for _, i1, i2, j1, j2 in _aligned([_mark(item) for item in old], [_mark(item) for item in new]):
            both = min(i2 - i1, j2 - j1)
            yield from ((f"{path}[{j1 + n}]", old[i1 + n], new[j1 + n]) for n in range(both))
            self._removed += [Change(f"{path}[{i}]", old=old[i]) for i in range(i1 + both, i2)]
            self._added += [Change(f"{path}[{j}]", new=new[j]) for j in range(j1 + both, j2)]

    def _sets(self, path: str, old: set[Any], new: set[Any]) -> None:
        before, after = {_mark(item): item for item in old}, {_mark(item): item for item in new}
        gone = [(f"{path}{{{item!r}}}", item) for mark, item in before.items() if mark not in after]
        come = [(f"{path}{{{item!r}}}", item) for mark, item in after.items() if mark not in before]
        self._removed += [Change(name, old=item) for name, item in sorted(gone, key=itemgetter(0))]
        self._added += [Change(name, new=item) for name, item in sorted(come, key=itemgetter(0))]


def _aligned(old: list[object], new: list[object]) -> Iterator[tuple[str, int, int, int, int]]:
    """Where two lists differ, as of difflib: the ranges of items that take each other's places."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    a, b = old[first : len(old) - last], new[first : len(new) - last]
    if max(len(a), len(b)) > _ALIGNED:
        yield "replace", first, first + len(a), first, first + len(b)
        return
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            yield tag, first + i1, first + i2, first + j1, first + j2


def _mark(value: Any) -> object:
    """Something to compare a value by that is hashable: equal only for values that are alike."""
    try:
        return pack(value)
    except Unserializable:  # a state that was never stored may hold anything
        return repr(value)


def _items(value: Mapping[Any, Any]) -> _Entries:
    return {_mark(key): (f"[{key!r}]", item) for key, item in value.items()}


def _fields(value: Any) -> _Entries | None:
    """The fields of a model or a dataclass, with whatever else of it is stored."""
    kind = class_of(value)
    if kind is UnknownValue:
        return _stored(value)
    if issubclass(kind, Enum) or not (issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)):
        return None
    shape = shape_of(kind)
    return {at: (at, item) for at, item in shape.parts(value)} if shape else None


def _stored(value: UnknownValue) -> _Entries:
    """What can be told of a value whose class this process lacks."""
    try:
        held = (".value", value.value)
    except BatonpassError:  # a value inside of it does not fit its class any more
        held = (".packed", value.packed)
    return {"type": (".type_name", value.type_name), "held": held}


def _both(old: Any, new: Any, width: int) -> str:
    """The two values; of long ones that begin alike, where they begin to differ."""
    one, other = repr(old), repr(new)
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    skip = same - 20 if same > 30 and max(len(one), len(other)) > width else 0
    head = "..." if skip else ""
    return " -> ".join(_clip(f"{head}{text[skip:]}", width) for text in (one, other))


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
