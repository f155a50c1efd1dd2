"""Ordering: the JSON of models with their sets in the same order in each process, where it depends on the hash seed.

Sets that a model holds are given to its class as sorted lists, so that what its serializers make of them is in order.
The sets that these return, and those in values that nobody here looks into, are put in order in the JSON.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from typing import Any, TypeAlias, cast

from pydantic import BaseModel
from pydantic_core import from_json, to_json

from .stand_ins import UNKNOWN, Unordered, dump, entries_of

_ATOMS = frozenset({str, int, float, bool, bytes, type(None)})
Rank: TypeAlias = Callable[[object], Any]
"""By what a set's items are sorted."""


def in_order(value: BaseModel, rank: Rank, *, kept: bool = False) -> BaseModel:
    """The same with sets as lists. What leads to no sets stays as it is: classes write their values as they like. What
    they have made of their sets and `kept` is made anew, unless that can't be had of lists."""
    leading = _leading_to_sets(value)
    if not leading:
        return value
    copies = _Copies(leading, kept=kept)
    made = cast("BaseModel", copies.copy(value))
    copies.fill()
    _sort(copies.sets, rank)
    return made


def json_of(value: BaseModel, *, kept: bool = False) -> str:
    """A model's JSON, with the sets in order that its class makes of its values, or has made and `kept`."""
    text = value.model_dump_json(warnings=False)  # refuses circles
    return _written_like(text, dump(value, kept=kept))


def json_before(value: BaseModel) -> str:
    """The same as the release before wrote it: of sets of models it knew only what the class computes, and all lists in
    that were in order, too."""
    text, computed = value.model_dump_json(warnings=False), type(value).model_computed_fields
    try:
        dumped: Any = BaseModel.model_dump(value, warnings=False)
    except Exception:
        dumped = {name: UNKNOWN if name in computed else None for name in from_json(text)} if computed else None
    return _written_like(text, dumped)


def _written_like(text: str, dumped: Any) -> str:
    return to_json(_like(from_json(text), dumped)).decode() if _has_sets(dumped) else text


def _leading_to_sets(value: BaseModel) -> set[int]:
    """The ids of the sets whose order matters, and of all from which there is a way to one."""
    left: list[Any] = [value]
    seen: dict[int, Any] = {}  # JSON leaves fields out that may lead back here
    ways: list[tuple[int, list[Any]]] = []
    leading: set[int] = set()
    while left:
        held = left.pop()
        if id(held) in seen:
            continue
        seen[id(held)] = held
        if items := [item for item in _items(held) if type(item) not in _ATOMS]:
            ways.append((id(held), items))
            left += items
        if isinstance(held, set | frozenset) and len(cast("Set[object]", held)) > 1:
            leading.add(id(cast("object", held)))
    if leading:
        _go_back(ways, leading)
    return leading


def _go_back(ways: list[tuple[int, list[Any]]], leading: set[int]) -> None:
    holders: dict[int, list[int]] = {}
    for holder, items in ways:
        for item in items:
            holders.setdefault(id(item), []).append(holder)
    found = list(leading)
    while found:
        new = set(holders.get(found.pop(), ())) - leading
        leading |= new
        found += new


def _items(held: Any) -> Iterable[Any]:
    if isinstance(held, dict):
        return cast("dict[object, object]", held).values()
    if isinstance(held, list | tuple | set | frozenset):
        return cast("Iterable[Any]", held)
    if isinstance(held, BaseModel):
        extra = held.__pydantic_extra__
        return [*held.__dict__.values(), *extra.values()] if extra else held.__dict__.values()
    return entries_of(held).values()


class _Copies:
    """Of objects that may know each other: each is copied once, and filled when what it holds has copies."""

    def __init__(self, leading: set[int], *, kept: bool) -> None:
        self._leading = leading
        self._kept = kept
        self._made: dict[int, Any] = {}
        self._empty: list[tuple[Any, Any]] = []
        self.sets: list[list[object]] = []

    def copy(self, held: Any) -> Any:
        if id(held) not in self._leading:
            return held
        if id(held) not in self._made:
            self._made[id(held)] = made = _begun(held, kept=self._kept)
            self._empty.append((held, made))
        return self._made[id(held)]

    def fill(self) -> None:
        while self._empty:
            held, made = self._empty.pop()
            if isinstance(made, list):
                cast("list[object]", made).extend(map(self.copy, held))
                if isinstance(held, set | frozenset):
                    self.sets.append(cast("list[object]", made))
                continue
            for name, item in entries_of(held).items():
                if (copied := self.copy(item)) is not item or isinstance(made, dict):
                    _put(made, name, copied)


def _begun(held: Any, *, kept: bool) -> Any:
    if isinstance(held, list | tuple | set | frozenset):
        return []
    if isinstance(held, dict):
        return {}
    if not isinstance(held, BaseModel):
        return copy(held)
    made = held.model_copy()
    for name in () if kept else vars(made).keys() - type(held).model_fields.keys():
        del vars(made)[name]
    return made


def _put(made: Any, name: Any, item: Any) -> None:
    if isinstance(made, dict):
        made[name] = item
    elif isinstance(made, BaseModel):
        extra = made.__pydantic_extra__ or {}
        made.__pydantic_fields_set__.add(name)  # a digest of what is set has it
        (extra if name in extra else vars(made))[name] = item
    else:
        object.__setattr__(made, name, item)  # it may be frozen


def _sort(sets: list[list[object]], rank: Rank) -> None:
    """An item may hold other sets, so that its rank is known when they are in order: once more until all stay."""
    for _ in sets:
        moved = False
        for row in reversed(sets):  # those that are held by others are found later
            ranked = sorted(((rank(item), item) for item in row), key=lambda each: each[0])
            moved = moved or any(one is not other for (_, one), other in zip(ranked, row, strict=True))
            row[:] = [item for _, item in ranked]
        if not moved:
            return


def _has_sets(dumped: object) -> bool:
    left: list[Any] = [dumped]
    for held in left:  # to which others are added meanwhile
        if isinstance(held, dict):
            items: Collection[Any] = cast("dict[object, object]", held).values()
        elif isinstance(held, list | tuple | deque | set | frozenset | Unordered):
            items = held.items if isinstance(held, Unordered) else cast("Collection[Any]", held)
            if held is UNKNOWN or (isinstance(held, set | frozenset | Unordered) and len(items) > 1):
                return True
        else:
            continue
        left += [item for item in items if type(item) not in _ATOMS]
    return False


def _like(written: Any, dumped: Any) -> Any:
    """What is written as JSON, with the lists in order that were dumped as sets."""
    if not _has_sets(dumped):
        return written
    if isinstance(written, dict):
        entries = cast("dict[str, Any]", written)
        return {name: _like(item, other) for name, item, other in _beside(entries, dumped)}
    if not isinstance(written, list):
        return written
    row = cast("list[object]", written)
    others: Any = dumped.items if isinstance(dumped, Unordered) else dumped
    if isinstance(others, list | tuple | deque) and len(cast("Sequence[Any]", others)) == len(row):
        made = [_like(item, other) for item, other in zip(row, cast("Sequence[Any]", others), strict=True)]
        return sorted(made, key=to_json) if isinstance(dumped, Unordered) else made
    nested = not isinstance(dumped, set | frozenset) or any(map(_has_sets, _items(dumped)))
    return sorted((_like(item, UNKNOWN) if nested else item for item in row), key=to_json)


def _beside(written: Mapping[str, Any], dumped: Any) -> Iterator[tuple[str, Any, Any]]:
    """What was dumped for each name in JSON. If the class writes JSON with other names, the same in order."""
    held = cast("dict[object, object]", dumped) if isinstance(dumped, dict) else {}
    renamed = iter([item for name, item in held.items() if name not in written] if len(held) == len(written) else ())
    others = [held[name] if name in held else next(renamed, UNKNOWN) for name in written]
    return zip(written, written.values(), others, strict=True)
