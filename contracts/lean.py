"""Lean dataclasses: the standard ones to checkers, but quicker to define and to make.

A frozen dataclass of four fields takes four times as long to define, because each of its methods is compiled from text
of its own, and three times as long to make (measured on Python 3.11). The coordinator has 150 of them, which every
process that connects would pay for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(kind=None, /, *, frozen=False, slots=False, kw_only=False, eq=True):
        """As the standard decorator, but what is frozen is so for checkers only."""

        def lean(kind: type) -> type:
            kind = dataclasses.dataclass(repr=False, eq=False, slots=slots, kw_only=kw_only)(kind)
            kind.__repr__ = _repr
            if eq:
                kind.__eq__, kind.__hash__ = _comparing(kind)
                if not frozen:
                    kind.__hash__ = None
            return kind

        return lean if kind is None else lean(kind)


def _repr(self: Any) -> str:
    values = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({values})"


def _comparing(kind: type[Any]) -> tuple[Callable[[Any, object], bool], Callable[[Any], int]]:
    names = [each.name for each in dataclasses.fields(kind) if each.compare]
    values: Callable[[Any], object] = attrgetter(*names) if names else lambda _: None

    def eq(self: Any, other: object) -> bool:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return eq, hashed
