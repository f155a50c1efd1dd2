"""Marks: what keeps all others out of the two namespaces of a repartition.

Each partition has one, a text: what goes on, the number of the try that put it there, and the other place. By it
lib/moved.lua refuses all. In the old namespace it is `moving`, then `moved`; that of the first partition decides:
while it is `moving` the move can be repeated or canceled, then it can only be ended. In the new namespace it is
`filling`, then `ready`, then none. One that is filled from a file is `taking` before: somebody may have opened it, and
it is looked through once nobody else can write to it.

Who takes over a move that somebody has begun, who may be dead or only slow, looks at all marks of the new namespace
first, then puts its own number on the first partition of the old one: from there on no other try can end the move. Then
it replaces what it saw, and nothing else: what somebody has changed meanwhile, or opened, stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from secrets import token_hex

from ....contracts.errors import Conflict
from .side import Side


@dataclass(frozen=True)
class Mark:
    """What a partition says of itself. `kind` is "" where there is no mark."""

    kind: str = ""
    token: str = ""
    where: str = ""

    @property
    def text(self) -> str:
        return f"{self.kind} {self.token} {self.where}" if self.kind else ""

    def as_(self, kind: str) -> Mark:
        """The same try's mark of another kind."""
        return replace(self, kind=kind)


def new_token() -> str:
    """The number of a try."""
    return token_hex(8)


def read(side: Side) -> list[Mark]:
    """The marks of all partitions."""
    found = side.ask([(at, "GET", "moved") for at in side.partitions])
    return [Mark(*mark.decode().split(" ", 2)) if mark else Mark() for mark in found]


def change(side: Side, at: int, known: Mark, new: Mark, *, unused: bool = False, schema: str = "") -> None:
    """Put a mark where another one, or none, is known to be; `Conflict` if somebody was first. A partition must be new
    to be `unused`; it gets its schema when it is opened."""
    [[told, *there]] = side.run("store/mark", [(at, [known.text, new.text, int(unused), schema])])
    if told != b"+" or there[0].decode() != new.text:
        raise overtaken(side)


def overtaken(side: Side) -> Conflict:
    """What is told to a try that is not alone."""
    return Conflict(
        f"{side.name} was used, or another `batonpass repartition` has begun there meanwhile: leave it to that, or "
        "begin anew"
    )
