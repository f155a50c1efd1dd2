"""Filling: writes the pieces to the new namespace, and compares them with what is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgpack

from ....contracts.errors import Conflict, Corrupted, Overloaded
from .kinds import Piece
from .marks import overtaken
from .side import Ask, Side

# How many calls one script makes, and how many bytes it writes.
_CALLS, _BYTES = 200, 1_000_000
_AT_ONCE = 100
# What expires within so many ms may be gone when it is compared. (Expiring keys are not counted.)
_SOON = 60_000
# The command that counts a key's elements.
_SIZES: Mapping[str, str] = {"hash": "HLEN", "list": "LLEN", "stream": "XLEN", "string": "EXISTS", "zset": "ZCARD"}


class Filling:
    """Writes to the partitions of the new namespace that bear this filler's mark."""

    def __init__(self, target: Side, mark: str) -> None:
        self._target = target
        self._mark = mark
        self._waiting: dict[int, list[bytes]] = {}

    def clear(self) -> None:
        """Delete what an earlier attempt has left."""
        for page in self._target.scan():
            for at, key in page:
                if key not in ("moved", "partitions"):
                    self._call(at, "UNLINK", key)
        self.flush()

    def note_partitions(self) -> None:
        """Record how many partitions the namespace has."""
        self._call(0, "SETNX", "partitions", str(self._target.count))
        self.flush()
        [count] = self._target.ask([(0, "GET", "partitions")])
        if int(count or 0) != self._target.count:
            raise Conflict(
                f"{self._target.name} was made, or canceled, by somebody else meanwhile: --cancel, begin anew"
            )

    def forget_partitions(self) -> None:
        """The opposite of `note_partitions`."""
        self._call(0, "DEL", "partitions")
        self.flush()

    def add(self, piece: Piece) -> None:
        """Write a piece, now or a little later."""
        at, key, form = piece.at, piece.key, piece.form
        if form == "stream":
            for position, fields in piece.elements:
                self._call(at, "XADD", key, position, *_flat(fields.items()))
        elif form == "last":
            self._call(at, "XADD", key, *piece.elements, "type", "")
            self._call(at, "XDEL", key, *piece.elements)
        elif form == "zset":
            self._call(at, "ZADD", key, *_flat((score, member) for member, score in piece.elements))
        elif form == "hash":
            self._call(at, "HSET", key, *_flat(piece.elements))
        elif form == "list":
            self._call(at, "RPUSH", key, piece.first, *piece.elements)
        else:
            self._call(at, "SET", key, *piece.elements)
        if piece.ttl:
            self._call(at, "PEXPIRE", key, str(piece.ttl))

    def _call(self, at: int, *call: Any) -> None:
        waiting = self._waiting.setdefault(at, [])
        waiting.append(msgpack.packb(call, use_bin_type=False))
        if len(waiting) >= _CALLS or sum(map(len, waiting)) > _BYTES:
            self._send({at: self._waiting.pop(at)})

    def flush(self) -> None:
        """Write what is waiting."""
        waiting, self._waiting = self._waiting, {}
        self._send(waiting)

    def _send(self, calls: Mapping[int, list[bytes]]) -> None:
        try:
            replies = self._target.run("store/fill", [(at, [self._mark, *each]) for at, each in calls.items()])
        except Overloaded as error:
            raise Overloaded(
                f"{self._target.name} is not filled, since its server takes no more. What is there stays, and nobody "
                f"uses it: run this again when there is room, or with --cancel to give it up ({error})"
            ) from None
        if any(reply[0] != b"+" for reply in replies):
            raise overtaken(self._target)


class Comparing:
    """Compares pieces with what is in the new namespace, and counts them."""

    def __init__(self, target: Side) -> None:
        self._target = target
        self._waiting: list[Piece] = []
        self._counted: Counter[int] = Counter()

    def add(self, piece: Piece) -> None:
        """Compare a piece, now or a little later. Raises `Corrupted` if it is missing or different."""
        self._waiting.append(piece)
        if len(self._waiting) >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Compare what is waiting."""
        waiting, self._waiting = self._waiting, []
        for piece, found in zip(waiting, self._target.ask([_question(piece) for piece in waiting]), strict=True):
            if piece.form == "last":
                continue
            if not piece.ttl:
                self._counted[piece.at] += len(piece.elements)
            if not _same(piece, found) and not 0 < piece.ttl < _SOON:
                self._differs(f"the key {piece.key} of partition {piece.at} is not what it should be")

    def count(self) -> int:
        """Check that nothing else is there. Returns how many elements there are in all."""
        self.flush()
        found: Counter[int] = Counter()
        for page in self._target.scan():
            keys = [(at, key) for at, key in page if key not in ("moved", "partitions")]
            told = iter(self._target.ask([(at, about, key) for at, key in keys for about in ("TYPE", "PTTL")]))
            lasting = [(key, form.decode()) for key, form, ttl in zip(keys, told, told, strict=True) if ttl == -1]
            sizes = self._target.ask([(at, _SIZES[form], key) for (at, key), form in lasting])
            for ((at, _), _), size in zip(lasting, sizes, strict=True):
                found[at] += size
        for at in self._target.partitions:
            if found[at] != self._counted[at]:
                self._differs(f"partition {at} has {found[at]:,} elements, not {self._counted[at]:,}")
        return found.total()

    def _differs(self, what: str) -> None:
        raise Corrupted(f"{self._target.name} differs from what was copied, {what}: nothing is switched, run it again")


def _question(piece: Piece) -> Ask:
    """The command that reads what a piece should be."""
    at, key, form = piece.at, piece.key, piece.form
    if form == "stream":
        return at, "XRANGE", key, piece.elements[0][0], piece.elements[-1][0]
    if form == "list":
        return at, "LRANGE", key, piece.first, piece.first + len(piece.elements) - 1
    if form == "zset":
        return at, "ZMSCORE", key, *(member for member, _ in piece.elements)
    if form == "hash":
        return at, "HMGET", key, *(name for name, _ in piece.elements)
    return at, "EXISTS" if form == "last" else "GET", key


def _same(piece: Piece, found: Any) -> bool:
    wanted: list[object] = piece.elements
    if piece.form == "zset":
        wanted = [float(score) for _, score in piece.elements]
        found = [score if score is None else float(score) for score in found]
    elif piece.form == "hash":
        wanted = [value for _, value in piece.elements]
    elif piece.form == "string":
        found = [found]
    return bool(wanted == found)


def _flat(pairs: Iterable[Sequence[Any]]) -> Iterator[Any]:
    for pair in pairs:
        yield from pair
