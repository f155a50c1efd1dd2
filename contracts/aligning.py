"""Aligning: which items of two lists belong together, if they are not the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, cast

from .entries import Entries, fields, items, mark

# Parts of lists that are longer than this are not aligned: that takes the square of it.
_MOST = 2000
# What two messages, rows or calls have each of its own, although they say the same: `id`, `tool_call_id`, `created_at`,
# `response_metadata`, `models_usage`.
_OWN = re.compile(r"(.*_)?(id|at|metadata|usage)")
_DEEPEST = 6  # where kin is looked for


@dataclass(frozen=True)
class Run:
    """Some items of a list, one after the other, and the place of the first."""

    items: Sequence[Any]
    first: int = 0

    def part(self, start: int, stop: int) -> Run:
        """Some of them."""
        return Run(self.items[start:stop], self.first + start)

    def after(self, count: int) -> Iterator[tuple[int, Any]]:
        """Those after so many, each with how many are before it."""
        return enumerate(self.items[count:], count)


def aligned(old: Run, new: Run, by: Callable[[Any], object]) -> Iterator[tuple[bool, Run, Run]]:
    """Both in parts: those with the same marks, and those that take each other's places."""
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
    """What lies between a common beginning and end, as of difflib."""
    old, new = old.part(first, len(a) - last), new.part(first, len(b) - last)
    if max(len(old.items), len(new.items)) > _MOST:
        yield False, old, new
        return
    matcher = SequenceMatcher(None, a[first : len(a) - last], b[first : len(b) - last], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        yield tag == "equal", old.part(i1, i2), new.part(j1, j2)


def own_id(item: Any) -> object:
    """An item's own id, which it keeps when it is edited; what no other has, if it has none."""
    found = _inside(item).get("id")
    return found if isinstance(found, str | int) and found != "" else object()


def kin(value: Any, depth: int = _DEEPEST) -> object:
    """What a value says, without ids, times and counts: two runs that say the same have others."""
    if isinstance(value, list | tuple) and depth:
        return tuple(kin(each, depth - 1) for each in cast("Sequence[Any]", value))
    held = _inside(value)
    if not held or not depth:
        return mark(value)
    of: type[object] = type(cast("object", value))
    return of, tuple((name, kin(held[name], depth - 1)) for name in sorted(held) if not _OWN.fullmatch(name))


def _inside(value: Any) -> dict[str, Any]:
    """The fields of a model or a dataclass and what a dict has under texts, by name."""
    found: Entries = items(cast("Mapping[Any, Any]", value)) if isinstance(value, dict) else fields(value) or {}
    return {at.strip(".[]'\""): held for at, held in found.values()}
