"""Aligning: finds the items of two lists that correspond to each other without being equal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, cast

from .entries import Entries, fields, items, mark

# Longer runs are not aligned, because that takes quadratic time.
_MOST = 2000
# Fields in which two messages, rows or calls differ although they say the same: `id`, `tool_call_id`, `created_at`,
# `response_metadata`, `models_usage`.
_OWN = re.compile(r"(.*_)?(id|at|metadata|usage)")
_DEEPEST = 6  # how deep in a value its like is looked for


@dataclass(frozen=True)
class Run:
    """Consecutive items of a list, and the place of the first."""

    items: Sequence[Any]
    first: int = 0

    def part(self, start: int, stop: int) -> Run:
        """A part of them."""
        return Run(self.items[start:stop], self.first + start)

    def after(self, count: int) -> Iterator[tuple[int, Any]]:
        """Those after so many, each with how many are before it."""
        return enumerate(self.items[count:], count)


def aligned(old: Run, new: Run, by: Callable[[Any], object]) -> Iterator[tuple[bool, Run, Run]]:
    """Splits both lists into runs that correspond: items with the same mark, and the items between those."""
    a, b = [by(item) for item in old.items], [by(item) for item in new.items]
    first = 0
    while first < min(len(a), len(b)) and a[first] == b[first]:
        first += 1
    last = 0
    while last < min(len(a), len(b)) - first and a[-1 - last] == b[-1 - last]:
        last += 1
    yield True, old.part(0, first), new.part(0, first)
    yield from _middle(old, new, a, b, first, last)
    yield True, old.part(len(a) - last, len(a)), new.part(len(b) - last, len(b))


def _middle(
    old: Run, new: Run, a: list[object], b: list[object], first: int, last: int
) -> Iterator[tuple[bool, Run, Run]]:
    """What is between a common beginning and a common end, matched by difflib."""
    old, new = old.part(first, len(a) - last), new.part(first, len(b) - last)
    if max(len(old.items), len(new.items)) > _MOST:
        yield False, old, new
        return
    matcher = SequenceMatcher(None, a[first : len(a) - last], b[first : len(b) - last], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        yield tag == "equal", old.part(i1, i2), new.part(j1, j2)


def own_id(item: Any) -> object:
    """An item's own id, which it keeps when it is edited. If it has none, something unique."""
    found = _inside(item).get("id")
    return found if isinstance(found, str | int) and found != "" else object()


def kin(value: Any, depth: int = _DEEPEST) -> object:
    """A value without ids, times and counts, which differ between two runs that say the same."""
    if isinstance(value, list | tuple) and depth:
        return tuple(kin(each, depth - 1) for each in cast("Sequence[Any]", value))
    held = _inside(value)
    if not held or not depth:
        return mark(value)
    of: type[object] = type(cast("object", value))
    return of, tuple((name, kin(held[name], depth - 1)) for name in sorted(held) if not _OWN.fullmatch(name))


def _inside(value: Any) -> dict[str, Any]:
    """The fields of a model or a dataclass, or the text keys of a dict, by name."""
    found: Entries = items(cast("Mapping[Any, Any]", value)) if isinstance(value, dict) else fields(value) or {}
    return {at.strip(".[]'\""): held for at, held in found.values()}
