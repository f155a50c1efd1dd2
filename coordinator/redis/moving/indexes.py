"""Indexes: what every partition keeps for itself: gates of lines, groups of consumers, how far events were trimmed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from ....contracts.names import partition_of
from ...rows import NEVER
from .kinds import Piece, of_path
from .reading import Reader

# Gives the partitions of an event, from its old partition and its fields.
OfEvent = Callable[[int, Mapping[bytes, bytes]], int]


def with_items(reader: Reader, at: int, index: Piece, count: int) -> Iterator[Piece]:
    """The items that have these members. A digest alone does not tell where an item belongs."""
    members = [member for member, _ in index.elements]
    found = reader.read([(at, f"e:{member[-32:].decode()}", "hash") for member in members])
    for member, pieces in zip(members, found, strict=True):
        for piece in pieces:
            yield piece._replace(at=of_path(member) % count)


def gates(reader: Reader, at: int, line: str, count: int) -> Iterator[Piece]:
    """When a lane's line moves, in each partition where somebody waits in it. If nobody runs there whose end would move
    it, it moves at once."""
    lane = line.partition(":")[2]
    waiting = _partitions(reader, at, line, count)
    entered = _partitions(reader, at, f"la:{lane}", count)
    [due] = reader.ask([(at, "ZSCORE", "gates", lane)])
    for to in sorted(waiting):
        opens = 0.0 if to not in entered and (due is None or due >= NEVER) else due
        if opens is not None:
            yield Piece(to, "gates", "zset", [(lane.encode(), repr(opens).encode())])


def _partitions(reader: Reader, at: int, key: str, count: int) -> set[int]:
    pieces = reader.each(at, key, "zset")
    return {partition_of(member.decode()) % count for piece in pieces for member, _ in piece.elements}


def trimmed(reader: Reader, at: int, targets: Sequence[int]) -> Iterator[Piece]:
    """The newest event that was trimmed. The number of trimmed events begins anew."""
    [found] = reader.ask([(at, "GET", "trimmed")])
    position = found.partition(b" ")[0]
    for to in targets:
        yield Piece(to, "trimmed", "string", [position + b" 0"])


def groups(reader: Reader, at: int, targets: Sequence[int], of: OfEvent) -> Iterator[Piece]:
    """Groups of consumers. In each new partition, a group goes on where it was in the one that is split."""
    [listed] = reader.ask([(at, "HGETALL", "groups")])
    asked = zip(listed.items(), reader.ask([(at, "HGETALL", f"h:{digest.decode()}") for digest in listed]), strict=True)
    there = [(entry, group) for entry, group in asked if group]  # the server may have evicted some
    names, found = dict(entry for entry, _ in there), [group for _, group in there]
    passed: list[Counter[int]] = [Counter() for _ in names]
    fronts = [_number(group[b"front"]) for group in found]
    for piece in reader.each(at, "events", "stream"):
        for position, fields in piece.elements:
            to, number = of(at, fields), _number(position)
            for front, counter in zip(fronts, passed, strict=True):
                counter[to] += number <= front
    for to in targets:
        yield Piece(to, "groups", "hash", list(names.items()))
        for digest, group, counter in zip(names, found, passed, strict=True):
            fields = {**group, b"passed": b"%d" % counter[to]}
            yield Piece(to, f"h:{digest.decode()}", "hash", list(fields.items()))


def last_event(reader: Reader, at: int, targets: Sequence[int], of: OfEvent) -> Iterator[Piece]:
    """Makes new events come after all that groups and cursors know, even if the new server's clock is behind."""
    newest, gone, dealt = reader.ask(
        [(at, "XREVRANGE", "events", "+", "-", "COUNT", 1), (at, "GET", "trimmed"), (at, "GET", "dealt")]
    )
    known = [*(id_ for id_, _ in newest), *(gone.partition(b" ")[:1] if gone else ()), *([dealt] if dealt else ())]
    if not known:
        return
    last = max(known, key=_number)
    has_it = of(at, newest[0][1]) if newest and newest[0][0] == last else -1
    for to in targets:
        yield Piece(to, "dealt", "string", [last])
        if to != has_it:
            yield Piece(to, "events", "last", [last])


def _number(position: bytes) -> tuple[int, ...]:
    return tuple(map(int, position.split(b"-")))
