"""Marks keep everybody else out of the two namespaces of a repartition.

Each partition has a mark, a text: its kind, the number of the attempt that put it there, and the other namespace. While
there is one, lib/moved.lua refuses everybody. In the old namespace the kind is `moving`, then `moved`. The mark of the
first partition decides: while it is `moving`, the move can be repeated or canceled; after that, only completed. In the
new namespace it is `filling`, then `ready`, then there is none. When a namespace is filled from a file, it is `taking`
first: somebody may have opened it, so it is inspected once nobody else can write to it.

Another attempt may be dead, or just slow. To take over from it, an attempt first reads all marks of the new namespace,
and then puts its own number on the first partition of the old one: from then on no other attempt can complete the move.
Then it replaces the marks that it read, and only those: what somebody has changed or opened since stays.
"""

from __future__ import annotations

from dataclasses import replace
from secrets import token_hex

from ....contracts.errors import Conflict
from ....contracts.lean import dataclass
from .side import Side


@dataclass(frozen=True)
class Mark:
    """The mark of a partition. `kind` is "" if there is none."""

    kind: str = ""
    token: str = ""
    where: str = ""

    @property
    def text(self) -> str:
        return f"{self.kind} {self.token} {self.where}" if self.kind else ""

    @staticmethod
    def of(text: str) -> Mark:
        """The mark that a text is."""
        return Mark(*text.split(" ", 2)) if text else Mark()

    def as_(self, kind: str) -> Mark:
        """The same attempt's mark of another kind."""
        return replace(self, kind=kind)


def new_token() -> str:
    """A number for an attempt."""
    return token_hex(8)


def read(side: Side) -> list[Mark]:
    """The marks of all partitions."""
    found = side.ask([(at, "GET", "moved") for at in side.partitions])
    return [Mark.of((mark or b"").decode()) for mark in found]


def change(side: Side, at: int, known: Mark, new: Mark, *, unused: bool = False, schema: str = "") -> None:
    """Replace a known mark, or none, by another. Raises `Conflict` if somebody else was first. With `unused`, the
    partition must be new; it gets its schema when it is opened."""
    [[told, *there]] = side.run("store/mark", [(at, [known.text, new.text, int(unused), schema])])
    if told != b"+" or there[0].decode() != new.text:
        raise overtaken(side)


def overtaken(side: Side) -> Conflict:
    """The error for an attempt that is not alone."""
    return Conflict(
        f"{side.name} was used, or another `batonpass repartition` has begun there meanwhile: leave it to that, or "
        "begin anew"
    )
