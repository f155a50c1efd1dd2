"""Losses: what a framework can't represent, counted and named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .alike import alike
from .transcript import Message
from .transcript_parts import Part, ToolResult


class Losses:
    """What was lost in the conversion to a framework: how often, by name, and where first."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def add(self, what: str, where: str = "", *, times: int = 1) -> None:
        """Count a loss."""
        self._counts[what] = self._counts.get(what, 0) + times
        self._first.setdefault(what, where)

    def take(self, other: Losses) -> None:
        """Add the losses that another one has counted."""
        for what, count in other._counts.items():
            self.add(what, other._first[what], times=count)

    def compare(self, given: Message, came: Message | None, where: str) -> None:
        """Count what a converted message lacks; `came` is the message read back from the result."""
        if came is None:
            self.add(f"{given.role} message", where)
            return
        for name in ("role", "author", "id", "usage"):
            value = getattr(given, name)
            if value is not None and value != getattr(came, name):
                self.add(name, where)
        for what in _missing(given.parts, came.parts):
            self.add(what, where)

    def foreign(self, message: Message, own: str, where: str) -> None:
        """Count what only frameworks other than `own` could represent."""
        for framework, native in message.native.items():
            for name in native.more if framework != own else ():
                self.add(f"{framework} {name}", where)

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each was lost, by name."""
        return dict(self._counts)

    def __bool__(self) -> bool:
        return bool(self._counts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __str__(self) -> str:
        """One line: `thought 3 (first at messages[2]), id 1 (...)`; "" for none."""
        return ", ".join(
            f"{what} {count}" + (f" (first at {self._first[what]})" if self._first[what] else "")
            for what, count in self._counts.items()
        )


def _missing(given: list[Part], came: list[Part]) -> Iterator[str]:
    """The names of what one list has and the other lacks: whole parts, or fields of them."""
    left = list(came)
    order = [part.kind for part in given] == [part.kind for part in came]
    for part in given:
        same = next((other for other in left if alike(other, part)), None)
        near = same or next((other for other in left if other.kind == part.kind), None)
        if near is None:
            yield part.kind
            continue
        left.remove(near)
        if same is None:
            yield from _fields(part, near)
    if not order and not left and len(given) == len(came):
        yield "order of parts"


def _fields(given: Part, came: Part) -> Iterator[str]:
    for name in type(given).model_fields:
        value, other = getattr(given, name), getattr(came, name)
        if value in (None, "", []) or alike(value, other):
            continue
        if isinstance(given, ToolResult) and name == "content":
            yield from (f"result's {what}" for what in _missing(value, other))
        else:
            yield f"{given.kind}'s {name}"
