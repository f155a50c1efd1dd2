"""Reader: the values of keys, in pieces small enough to send."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .kinds import Form, Piece
from .side import Ask, Side

# The most elements in a piece.
PIECE = 500
# About the most bytes in a piece, where it can be split.
_BYTES = 1_000_000


class Reader:
    """Reads a namespace that nobody writes to. A key that has expired gives no pieces."""

    def __init__(self, side: Side) -> None:
        self.ask = side.ask
        self.name, self.count = side.name, side.count

    def each(self, at: int, key: str, form: Form) -> Iterator[Piece]:
        """One key."""
        [pieces] = self.read([(at, key, form)])
        yield from pieces

    def read(self, page: Sequence[tuple[int, str, Form]]) -> Iterator[Iterator[Piece]]:
        """Many keys at once."""
        asks = [ask for at, key, form in page for ask in (_first(at, key, form), (at, "PTTL", key))]
        replies = iter(self.ask(asks))
        for (at, key, form), value, ttl in zip(page, replies, replies, strict=True):
            yield self._pieces(Piece(at, key, form, [], max(ttl, 0)), value) if ttl != -2 else iter(())

    def _pieces(self, piece: Piece, value: Any) -> Iterator[Piece]:
        at, key, form = piece.at, piece.key, piece.form
        if form == "string":
            yield piece._replace(elements=[value])
        elif form == "hash":
            for elements in portions(value):
                yield piece._replace(elements=elements)
        else:
            elements, first = _elements(form, value), 0
            while elements:
                yield piece._replace(elements=elements, first=first)
                first += len(elements)
                if len(elements) < PIECE:
                    return
                [value] = self.ask([_next(at, key, form, first, elements[-1])])
                elements = _elements(form, value)


def _first(at: int, key: str, form: Form) -> Ask:
    if form == "string":
        return at, "GET", key
    if form == "hash":
        return at, "HGETALL", key
    return _next(at, key, form, 0, None)


def _next(at: int, key: str, form: Form, first: int, last: Any) -> Ask:
    """The next page, after `first` elements, the last of which is given."""
    if form == "stream":
        return at, "XRANGE", key, b"(" + last[0] if last else "-", "+", "COUNT", PIECE
    if form == "list":
        return at, "LRANGE", key, first, first + PIECE - 1
    return at, "ZRANGE", key, first, first + PIECE - 1, "WITHSCORES"


def _elements(form: Form, value: list[Any]) -> list[Any]:
    if form != "zset":
        return value
    # Version 3 of the protocol has pairs, and numbers.
    in_pairs = bool(value) and isinstance(value[0], list)
    pairs = value if in_pairs else zip(value[::2], value[1::2], strict=True)
    return [(member, repr(score).encode() if isinstance(score, float) else score) for member, score in pairs]


def portions(value: dict[bytes, bytes]) -> Iterator[list[tuple[bytes, bytes]]]:
    """Pairs, in parts small enough to send."""
    portion: list[tuple[bytes, bytes]] = []
    size = 0
    for pair in value.items():
        portion.append(pair)
        size += len(pair[1])
        if len(portion) == PIECE or size > _BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion
