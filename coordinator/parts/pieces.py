"""Pieces: where a packed body may be cut, and which of its pieces another body has, too.

Only what differs is looked into: the items of a list, then what is inside those that have changed, be it a dict, a
tuple, a set, or an object of a class. Bytes may be cut anywhere, so what looks like a container and is none does no
harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeAlias, cast

from xxhash import xxh3_64_intdigest

from ...contracts.builtin_types import NAMED
from .body import BYTES, DICT, LIST, TEXT, ends_in, header
from .texts import Texts

# A smaller item is not looked into, and no more than so many of a level, the largest.
_LEAST_INSIDE, _MOST_INSIDE = 512, 256
# Each level takes as long as the first, and bytes from elsewhere may have thousands of them.
_DEEPEST = 48
# So many items that are smaller on average are taken together, some at a time, and not looked into at all if they are
# no more than a few bytes each: these are numbers, or nothing that was packed.
_MANY, _SMALL, _TINY = 1000, 64, 12
# The headers of values of extension types, without the type, by their first byte.
_EXTENSIONS = {0xC7: 2, 0xC8: 3, 0xC9: 5}

Container: TypeAlias = tuple[int, ...]
"""A container's number, behind those of the containers that it is in."""


class Piece(NamedTuple):
    """Bytes of a body, and the container that they are an item of. Not `single`: several small items of it."""

    first: int
    last: int
    within: Container
    single: bool = True

    def placed(self, at: int) -> Match:
        """The piece, with its place in the base."""
        return Match(self.first, self.last, self.within, at)


class Match(NamedTuple):
    """A piece, and the offset at which the base has the same bytes (-1: it does not)."""

    first: int
    last: int
    within: Container
    at: int


def matches(kind: str, data: bytes, base: bytes) -> list[Match]:
    """A body in pieces, in order, each with its place in the base, which is of the same kind."""
    return _Matching(data, base).found(kind)


class _Matching:
    """Goes down into both bodies, level by level."""

    def __init__(self, data: bytes, base: bytes) -> None:
        self._data = data
        self._base = base
        self._numbers = count()
        self._texts = Texts(data, base)

    def found(self, kind: str) -> list[Match]:
        """All pieces of the body."""
        whole, before = Piece(0, len(self._data), ()), Piece(0, len(self._base), ())
        old = self._items(self._base, before, 0, kind) if kind != TEXT else []
        new: Sequence[Piece | Match] = self._items(self._data, whole, 0, kind) if old else []
        if not new:
            self._texts.add(0, len(self._base))
            return [*self._compared(whole)]
        for _ in range(_DEEPEST):
            used: set[int] = set()
            placed = [*self._placed(new, old, used)]
            left = [piece for piece in placed if isinstance(piece, Piece)]
            if not left:
                return cast("list[Match]", placed)
            least = sum(piece.last - piece.first for piece in left) // _MOST_INSIDE
            old = [*self._below(piece for piece in old if piece.first not in used and _is_large(piece, least))]
            new = [each for piece in placed for each in self._opened(piece, least)]
        return [piece if isinstance(piece, Match) else piece.placed(-1) for piece in new]

    def _placed(self, new: Iterable[Piece | Match], old: Sequence[Piece], used: set[int]) -> Iterator[Piece | Match]:
        """The pieces of one level, with their places, which are `used`. What is large and has none stays to be looked
        into. Adjacent ones of a container are joined."""
        places: dict[Any, int] | None = None
        joined: list[Any] = []  # first, last, container and place of the pieces before, as far as they belong together
        for piece in new:
            if isinstance(piece, Match):
                if joined:
                    yield Match(*joined)
                joined = [*piece]
                continue
            first, last, within, _ = piece
            behind = joined[3] + joined[1] - joined[0] if joined and joined[3] >= 0 else -1
            at = behind
            if at < 0 or not self._base.startswith(self._data[first:last], at):
                places = self._places(old) if places is None else places
                at = self._place(piece, places)
            used.add(at)
            stays = at < 0 and _is_large(piece)
            if joined and not stays and joined[2] == within and at == behind:
                joined[1] = last
                continue
            if joined:
                yield Match(*joined)
            joined = [] if stays else [first, last, within, at]
            if stays:
                yield piece
        if joined:
            yield Match(*joined)

    def _places(self, old: Iterable[Piece]) -> dict[Any, int]:
        places: dict[Any, int] = {}
        for piece in old:
            places.setdefault(_key(self._base, piece), piece.first)
        return places

    def _place(self, piece: Piece, places: dict[Any, int]) -> int:
        at = places.get(_key(self._data, piece), -1)
        return at if at >= 0 and self._base.startswith(self._data[piece.first : piece.last], at) else -1

    def _below(self, old: Iterable[Piece]) -> Iterator[Piece]:
        """What is inside the base's pieces that the body does not have."""
        for piece in old:
            start, inner = self._inside(self._base, piece)
            if not inner:
                self._texts.add(start, piece.last)
            yield from inner

    def _opened(self, piece: Piece | Match, least: int) -> Iterator[Piece | Match]:
        """What is inside a piece of the body that the base does not have."""
        if isinstance(piece, Match):
            yield piece
            return
        if not _is_large(piece, least):
            yield piece.placed(-1)
            return
        start, inner = self._inside(self._data, piece)
        yield Match(piece.first, start, piece.within, -1)
        yield from inner or self._compared(Piece(start, piece.last, (*piece.within, next(self._numbers))))

    def _compared(self, text: Piece) -> Iterator[Match]:
        """A text, with what one of the base has of it."""
        for part in self._texts.common(text.first, text.last):
            yield Match(part.first, part.last, text.within, part.at)

    def _inside(self, body: bytes, piece: Piece) -> tuple[int, list[Piece]]:
        """Where a value's contents begin, and its items. None if it has none."""
        first = body[piece.first]
        kind, length = header(body[piece.first : piece.first + 1])
        start = piece.first + length
        if kind in (LIST, DICT, BYTES):
            return start, self._items(body, piece, start, LIST if kind == BYTES else kind)
        if kind == TEXT or first not in _EXTENSIONS:
            return start, []
        start += _EXTENSIONS[first] + 1
        if body[start - 1] == NAMED:
            start += 2 + int.from_bytes(body[start : start + 2], "big")
        return start, self._items(body, piece, start, LIST)

    def _items(self, body: bytes, piece: Piece, first: int, kind: str) -> list[Piece]:
        """The items of a list or dict that begin there, or the one value that an extension's data is. None if they are
        tiny."""
        size = piece.last - first
        ends = ends_in(memoryview(body)[first : piece.last], 1 + size // _TINY)
        if not ends or ends[-1] != size or (kind == DICT and len(ends) % 2):
            return []
        if kind == DICT:  # a small value stays with its key
            behind = [*ends[1:], size]
            ends = [end for at, end in enumerate(ends) if at % 2 or behind[at] - end >= _LEAST_INSIDE]
        within = (*piece.within, next(self._numbers))
        many = len(ends) > _MANY and size < len(ends) * _SMALL
        cuts = _together(body, first, ends) if many else [(end, True) for end in ends]
        befores = [0, *[end for end, _ in cuts]]
        return [
            Piece(first + at, first + end, within, single) for at, (end, single) in zip(befores, cuts, strict=False)
        ]


def _is_large(piece: Piece, least: int = 0) -> bool:
    return piece.single and piece.last - piece.first >= max(least, _LEAST_INSIDE)


def _key(body: bytes, piece: Piece) -> Any:
    """What equal pieces have in common, and others hardly ever."""
    first, last = piece[:2]
    return body[first:last] if last - first <= _SMALL else xxh3_64_intdigest(memoryview(body)[first:last])


def _together(body: bytes, first: int, ends: Sequence[int]) -> list[tuple[int, bool]]:
    """Where some small items end that are taken together: where depends on the items themselves, so that what is behind
    a change is cut in the same places. And large ones, which stay single."""
    found, at, before = list[tuple[int, bool]](), 0, 0
    for end in ends:
        if end - before >= _LEAST_INSIDE:
            found += [(before, False), (end, True)] if before > at else [(end, True)]
            at = end
        elif (body[first + end - 1] + end - before) % 16 == 0 or end - at >= _LEAST_INSIDE:
            found.append((end, False))
            at = end
        before = end
    return found if at == before else [*found, (before, False)]
