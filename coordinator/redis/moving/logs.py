"""Logs go with the checkpoint that began them. What threads of other partitions use of a log is copied to those.

On a single server, a copy or fork of a thread shares logs with the original, whatever partition each will be in. Each
partition then gets the bytes that are used there, and counts their uses, so that a log may be in several partitions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ....contracts.errors import Corrupted
from ....contracts.names import partition_of
from ..segments import SEGMENT
from .kinds import Piece
from .reading import Reader

_SPAN = re.compile(rb"([^,:]+):(\d+:\d+)")
_CHECKPOINT = re.compile(rb"c[0-9a-z]{23}\Z")


class Logs:
    """Which spans of logs are used in other partitions, and the logs as pieces."""

    def __init__(self, reader: Reader, count: int) -> None:
        self._reader = reader
        self._count = count
        # Old partition and log -> new partition (other than the log's own) -> span -> how often it is used there.
        self._elsewhere: dict[tuple[int, str], dict[int, Counter[bytes]]] = {}

    def note(self, at: int, to: int, key: str, elements: list[Any]) -> None:
        """Look for the spans that a key uses (commit lines, and what was written), given the partition it goes to."""
        if key[:2] == "t:":
            used = [line.split(b" ", 5)[4] for name, line in elements if _CHECKPOINT.match(name)]
        elif key[:2] == "k:":
            used = [value.partition(b" ")[0] for _, value in elements]
        else:
            return
        for spans in used:
            for log, span in _SPAN.findall(spans):
                name = log.decode()
                if partition_of(name) % self._count != to:
                    self._elsewhere.setdefault((at, name), {}).setdefault(to, Counter())[span] += 1

    def pieces(self, at: int, key: str) -> Iterator[Piece]:
        """The pieces for a log's uses, or for one of its segments."""
        kind, log, *_ = key.split(":")
        home = partition_of(log) % self._count
        elsewhere = self._elsewhere.get((at, log))
        is_copy = (home - at) % self._reader.count != 0
        if elsewhere is None and is_copy:
            return  # nobody uses it any more
        if elsewhere is None:
            for piece in self._reader.each(at, key, "hash" if kind == "u" else "string"):
                yield piece._replace(at=home)
        elif kind == "u":
            left = self._left(at, log, elsewhere)
            if left and is_copy:
                raise Corrupted(f"{self._reader.name}: the log {log} counts more uses than checkpoints have of it")
            yield from self._shared(at, log, {home: left, **elsewhere} if left else elsewhere)

    def _left(self, at: int, log: str, elsewhere: dict[int, Counter[bytes]]) -> Counter[bytes]:
        """A log's uses in its own partition."""
        [found] = self._reader.ask([(at, "HGETALL", f"u:{log}")])
        left = Counter({span: int(uses) for span, uses in found.items() if span != b"end"})
        for uses in elsewhere.values():
            left.subtract(uses)
        if min(left.values(), default=0) < 0:
            raise Corrupted(f"{self._reader.name}: the log {log} counts fewer uses than checkpoints have of it")
        return +left

    def _shared(self, at: int, log: str, uses: dict[int, Counter[bytes]]) -> Iterator[Piece]:
        for to, counts in uses.items():
            spans = [tuple(map(int, span.split(b":"))) for span in counts]
            ends: dict[int, int] = {}
            for first, last in spans:
                for number in range(first // SEGMENT, (last - 1) // SEGMENT + 1):
                    ends[number] = max(ends.get(number, 0), min(last - number * SEGMENT, SEGMENT))
            fields = [(b"end", b"%d" % max(last for _, last in spans))]
            fields += [(span, b"%d" % count) for span, count in counts.items()]
            yield Piece(to, f"u:{log}", "hash", fields)
            for number, end in sorted(ends.items()):
                [data] = self._reader.ask([(at, "GETRANGE", f"l:{log}:{number}", 0, end - 1)])
                yield Piece(to, f"l:{log}:{number}", "string", [data])
