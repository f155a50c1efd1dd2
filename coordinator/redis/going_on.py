"""Answers that come in several pieces: a script looks at some hundreds of records, and is asked again for the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from ...contracts.lean import dataclass
from .. import commands as c
from ..rows import PlaceRow


@dataclass(frozen=True, slots=True)
class GoOn(c.Command[Any]):
    """The command that asks for the rest."""

    asked: c.Command[Any]
    at: bytes


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What a script had found when it stopped, and where it has to go on."""

    asked: c.Command[Any]
    found: list[Any] = field(default_factory=list[Any])
    rests: tuple[bytes, ...] = ()

    @property
    def next(self) -> GoOn:
        """The command to send now."""
        return GoOn(self.asked, self.rests[0])

    def joined(self, answer: Any) -> Any:
        """This result joined with that of `next`."""
        join = _JOINED.get(type(self.asked))
        if join is None:
            return answer
        more = answer if isinstance(answer, Unfinished) else Unfinished(self.asked, answer)
        found, rests = join(self.asked, self.found + more.found), (*self.rests[1:], *more.rests)
        return Unfinished(self.asked, found, rests) if rests else found


def _places(asked: c.Places, rows: list[PlaceRow]) -> list[PlaceRow]:
    return sorted(rows, key=lambda row: (row.place.key, row.place.scope), reverse=True)[: asked.limit]


# Other results than lists come in one piece: a script has found them when it stops, or goes on to look for them.
_JOINED: dict[type[c.Command[Any]], Callable[[Any, list[Any]], list[Any]]] = {
    c.Timeline: lambda asked, rows: rows[: asked.limit],
    c.Places: _places,
}
