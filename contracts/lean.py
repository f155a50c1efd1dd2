"""Lean dataclasses: the standard ones to checkers, but quicker to define and to make.

A frozen dataclass takes three times as long to define, because each of its methods is compiled from text of its own,
and five times as long to make. The coordinator has 150 of them, which every process that connects would pay for.
"""

from __future__ import annotations

import dataclasses
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
                kind.__eq__ = _eq
                kind.__hash__ = (lambda self: hash(_compared(self))) if frozen else None
            return kind

        return lean if kind is None else lean(kind)


def _repr(self: Any) -> str:
    values = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({values})"


def _eq(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, each.name) for each in dataclasses.fields(self) if each.compare)
