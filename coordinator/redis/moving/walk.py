"""Walk: everything that a namespace keeps, as pieces for a namespace with more partitions.

Partitions are only split: the new number is a multiple of the old one. So a new partition gets elements from only one
old partition, and entries of streams keep their ids and their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ....contracts.errors import BadSetup, Corrupted
from ....contracts.names import home, partition_of
from ..cluster_partition import NOTE_KEPT
from .indexes import gates, groups, last_event, trimmed, with_items
from .kinds import LEFT, OF_IDS, OF_THREADS, SPLIT, Form, Piece
from .logs import Logs
from .reading import Reader
from .side import Side

# How many keys to read at once.
_AT_ONCE = 100


class Walk:
    """Goes through a namespace, for one with `count` partitions. `keys` is how many it has seen."""

    def __init__(self, source: Side, count: int) -> None:
        self._source = source
        self._count = count
        self._reader = Reader(source)
        self._logs = Logs(self._reader, count)
        self.keys = 0

    def __iter__(self) -> Iterator[Piece]:
        for page in self._source.scan():
            for start in range(0, len(page), _AT_ONCE):
                yield from self._pieces(page[start : start + _AT_ONCE])
        # By now it is known what uses the logs.
        for page in self._source.scan("[lu]:*"):
            for at, key in page:
                self.keys += 1
                yield from self._logs.pieces(at, key)

    def _pieces(self, page: list[tuple[int, str]]) -> Iterator[Piece]:
        whole: list[tuple[int, str, Form]] = []
        split: list[tuple[int, str]] = []
        for at, key in page:
            kind = key.partition(":")[0]
            if kind in LEFT or kind in ("l", "u"):
                continue
            self.keys += 1
            if form := OF_IDS.get(kind) or OF_THREADS.get(kind):
                whole.append((at, key, form))
            else:
                split.append((at, key))
        yield from self._whole(whole)
        for at, key in split:
            yield from self._split(at, key)

    def _whole(self, page: list[tuple[int, str, Form]]) -> Iterator[Piece]:
        """Keys that move unchanged."""
        homes = self._homes(page)
        for (at, key, _), to, pieces in zip(page, homes, self._reader.read(page), strict=True):
            for piece in pieces:
                if key[:2] == "j:":
                    self._check_job(key[2:], dict(piece.elements))
                self._logs.note(at, to % self._count, key, piece.elements)
                yield piece._replace(at=to % self._count)

    def _check_job(self, job: str, fields: Mapping[bytes, bytes]) -> None:
        """Check that a job would be in the partition of its thread, and of the checkpoint that it goes on from."""
        thread, tip = (fields.get(name, b"").decode("utf-8", "surrogatepass") for name in (b"thread", b"tip"))
        places = {home(thread), *([partition_of(tip)] if tip else [])}
        if any((place - partition_of(job)) % self._count for place in places):
            raise BadSetup(
                f"{self._source.name}: job {job} would be apart from its thread {thread!r}, or from checkpoint {tip} "
                "that it goes on from: --cancel, and delete it first"
            )

    def _homes(self, page: list[tuple[int, str, Form]]) -> list[int]:
        """The homes of keys: from the id in them, or their thread's name."""
        names: dict[tuple[int, str], Any] = {
            (at, key[2:34]): None for at, key, _ in page if key.partition(":")[0] in OF_THREADS
        }
        found = self._source.ask([(at, "HGET", f"t:{thread}", "name") for at, thread in names])
        names.update(zip(names, found, strict=True))
        homes: list[int] = []
        for at, key, _ in page:
            if key.partition(":")[0] in OF_IDS:
                homes.append(partition_of(key[2:]))
            elif (name := names[at, key[2:34]]) is None:
                raise Corrupted(f"{self._source.name}: the key {key} is of no thread, nobody knows where it belongs")
            else:
                homes.append(home(name.decode("utf-8", "surrogatepass")))
        return homes

    def _split(self, at: int, key: str) -> Iterator[Piece]:
        kind = key.partition(":")[0]
        if kind in SPLIT:
            form, of = SPLIT[kind]
            for piece in self._reader.each(at, key, form):
                if key == "items":
                    yield from with_items(self._reader, at, piece, self._count)
                yield from self._dealt(piece, of)
            if kind == "lw":
                yield from gates(self._reader, at, key, self._count)
        elif kind == "events":
            for piece in self._reader.each(at, key, "stream"):
                yield from self._dealt(piece, lambda fields: self._of_event(at, fields))
            yield from last_event(self._reader, at, self._targets(at), self._of_event)
        elif kind == "i":
            yield from self._intent(at, key)
        elif key == "groups":
            yield from groups(self._reader, at, self._targets(at), self._of_event)
        elif key == "trimmed":
            yield from trimmed(self._reader, at, self._targets(at))
        elif key == "agents":
            yield from self._reader.each(at, key, "hash")
        elif key in ("paused", "resumed"):
            for piece in self._reader.each(at, key, "hash"):
                yield from (piece._replace(at=to) for to in self._targets(at))
        else:
            raise Corrupted(
                f"{self._source.name}: the key {key} is of no kind that this version knows: use a newer one"
            )

    def _targets(self, at: int) -> range:
        """The new partitions that an old one is split into."""
        return range(at, self._count, self._source.count)

    def _of_event(self, at: int, fields: Mapping[bytes, bytes]) -> int:
        """Where a reader looks for events of this subject, unless its new partition gets none from this old one."""
        to = home(fields[b"subject"].decode("utf-8", "surrogatepass")) % self._count
        return to if to % self._source.count == at else at

    def _dealt(self, piece: Piece, of: Callable[[Any], int]) -> Iterator[Piece]:
        dealt: dict[int, list[Any]] = {}
        for element in piece.elements:
            about = element[1] if piece.form == "stream" else element[0]
            dealt.setdefault(of(about) % self._count, []).append(element)
        for to, elements in dealt.items():
            yield piece._replace(at=to, elements=elements)

    def _intent(self, at: int, key: str) -> Iterator[Piece]:
        """The first use of an idempotency key goes with its job, and a note about it goes where others look first. The
        existing notes are about jobs of other partitions, which will leave them anew."""
        piece = next(self._reader.each(at, key, "hash"), None)
        found = dict(piece.elements) if piece else {}
        if piece is None or b"noted" in found:
            return
        job = found[b"job"].decode()
        to, first = partition_of(job) % self._count, home(key[2:]) % self._count
        yield piece._replace(at=to)
        if first == to:
            return
        there, [kept] = [], self._source.ask([(at, "HGET", f"j:{job}", "key_ttl")])
        if (other := first % self._source.count) != at:
            [there] = self._source.ask([(other, "HMGET", key, "job", "noted")])
        if not (there and there[0] and not there[1]):  # there, another job has the key
            elements = [(b"job", found[b"job"]), (b"payload", found[b"payload"]), (b"noted", b"0")]
            yield piece._replace(at=first, elements=elements, ttl=(piece.ttl or int(kept or 0)) + NOTE_KEPT)
