"""Aligning: finds the items of two lists that correspond to each other without being equal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, cast

from .entries import Entries, fields, items, mark
from .matching import matching

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
    ends = len(old.items), len(new.items)
    start = stop = (0, 0)
    for pair in chain(matching(map(by, old.items), map(by, new.items)), [ends]):
        if pair != stop or pair == ends:
            yield True, old.part(start[0], stop[0]), new.part(start[1], stop[1])
            yield False, old.part(stop[0], pair[0]), new.part(stop[1], pair[1])
            start = pair
        stop = pair[0] + 1, pair[1] + 1


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
