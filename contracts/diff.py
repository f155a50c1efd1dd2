"""Diff: how two states differ, value by value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias, cast

from .aligning import Run, aligned, kin, own_id
from .alike import alike
from .entries import Entries, fields, items, mark


@dataclass(frozen=True, slots=True)
class Change:
    """A place where two states differ. `old` is None if something was added, `new` if it was removed.

    `path` is written as in Python: `state['messages'][3]['text']`. For what was removed, it is the place in the old
    state, for what was added or changed, the one in the new state: in a list where others came or went before it, the
    old state has something else there. An item of a set is written after it, in braces.
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
            yield f"- {change.path}: {_clip(_said(change.old), width)}"
        for change in self.added:
            yield f"+ {change.path}: {_clip(_said(change.new), width)}"
        for change in self.changed:
            yield f"~ {change.path}: {_both(change.old, change.new, width)}"


def diff(old: Any, new: Any, path: str = "state") -> Diff:
    """Compare two values. Types count (1 is not True), the order of a dict's keys doesn't, and nan equals nan."""
    return _Comparison(path).run(old, new)


_Places: TypeAlias = tuple[str, str]
"""The paths of what belongs together in the old state, and in the new one."""
_Pair: TypeAlias = tuple[_Places, Any, Any]


class _Comparison:
    """One diff being made. What is left to compare stands in a list, so that deep states need no deep stack."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._added: list[Change] = []
        self._removed: list[Change] = []
        self._changed: list[Change] = []

    def run(self, old: Any, new: Any) -> Diff:
        left: list[_Pair] = [((self._path, self._path), old, new)]
        while left:
            left += reversed(list(self._compare(*left.pop())))
        return Diff(tuple(self._added), tuple(self._removed), tuple(self._changed))

    def _compare(self, at: _Places, old: Any, new: Any) -> Iterator[_Pair]:
        """Note how two values differ. Returns the pairs inside of them to compare next."""
        if type(old) is not type(new):
            self._changed.append(Change(at[1], old, new))
        elif issubclass(type(old), dict):
            yield from self._entries(at, items(old), items(new))
        elif isinstance(old, list | tuple):
            yield from self._sequences(at, list(cast("list[Any]", old)), list(cast("list[Any]", new)))
        elif isinstance(old, set | frozenset):
            self._sets(at, cast("set[Any]", old), cast("set[Any]", new))
        elif (before := fields(old)) is not None:
            yield from self._entries(at, before, fields(new) or {})
        elif not alike(old, new):
            self._changed.append(Change(at[1], old, new))

    def _entries(self, at: _Places, before: Entries, after: Entries) -> Iterator[_Pair]:
        was, now = at
        self._removed += [Change(was + name, old=value) for key, (name, value) in before.items() if key not in after]
        for key, (name, value) in after.items():
            if key in before:
                yield (was + before[key][0], now + name), before[key][1], value
            else:
                self._added.append(Change(now + name, new=value))

    def _sequences(self, at: _Places, old: list[Any], new: list[Any]) -> Iterator[_Pair]:
        yield from self._exchanged(at, Run(old), Run(new), (mark, own_id, kin))

    def _exchanged(self, at: _Places, old: Run, new: Run, by: Sequence[Callable[[Any], object]]) -> Iterator[_Pair]:
        """Pairs of items that replaced each other. Those that are the same by some measure belong together, tried from
        the strictest measure on. If none fits, those in the same place do."""
        if by and old.items and new.items:
            for same, before, after in aligned(old, new, by[0]):
                if not same:
                    yield from self._exchanged(at, before, after, by[1:])
                elif by[0] is not mark:
                    yield from _together(at, before, after)
            return
        yield from _together(at, old, new)
        both = min(len(old.items), len(new.items))
        self._removed += [Change(f"{at[0]}[{old.first + n}]", old=each) for n, each in old.after(both)]
        self._added += [Change(f"{at[1]}[{new.first + n}]", new=each) for n, each in new.after(both)]

    def _sets(self, at: _Places, old: set[Any], new: set[Any]) -> None:
        before, after = {mark(item): item for item in old}, {mark(item): item for item in new}
        gone = [(f"{at[0]}{{{item!r}}}", item) for key, item in before.items() if key not in after]
        come = [(f"{at[1]}{{{item!r}}}", item) for key, item in after.items() if key not in before]
        self._removed += [Change(name, old=item) for name, item in sorted(gone, key=itemgetter(0))]
        self._added += [Change(name, new=item) for name, item in sorted(come, key=itemgetter(0))]


def _together(at: _Places, old: Run, new: Run) -> Iterator[_Pair]:
    """The pairs of two runs, place by place."""
    for n, (before, after) in enumerate(zip(old.items, new.items, strict=False)):
        yield (f"{at[0]}[{old.first + n}]", f"{at[1]}[{new.first + n}]"), before, after


def _both(old: Any, new: Any, width: int) -> str:
    """The two values, shortened: if they are long and begin alike, from where they begin to differ."""
    one, other = _said(old), _said(new)
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    skip = same - 20 if same > 30 and max(len(one), len(other)) > width else 0
    head = "..." if skip else ""
    return " -> ".join(_clip(f"{head}{text[skip:]}", width) for text in (one, other))


def _said(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # Python refuses to write a whole number of more than 4300 digits
        return f"<{type(value).__qualname__} with a very large number>"


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
