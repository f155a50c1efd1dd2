"""Sharing: which bytes of a value its base already keeps, and where the new ones go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple

from xxhash import xxh3_128

from .body import DICT, LIST, Body, item_ends
from .nodes import Part
from .spans import Append, Span, cut, joined

# A span takes space in every later checkpoint, so fewer bytes than this are written again rather than shared.
_LEAST_RUN = 256
# A value in more pieces, or from more logs, is written anew, because reading it would take too many lookups.
_MOST_LOGS = 8
_PIECE = 2048
# If a fork adds no more than this at a value's end, it is stored in the fork itself, because a log of its own would
# take about 300 bytes on Redis. The checkpoint after it moves it to a log.
_TAIL = 1024


class Sharing(Enum):
    """How much of its base a checkpoint may use. If a store says `Ungrounded`, the next one is tried."""

    APPEND = "goes on where the base's logs end"
    REFER = "uses what is in the base's logs, and puts what is new into its own"
    NOTHING = "stands alone"


# Bytes, and the log and offset at which they are kept.
Frame = Callable[[str, int, bytes], bytes]


class Writer:
    """What a new checkpoint adds to logs."""

    def __init__(self, checkpoint_id: str, sharing: Sharing, frame: Frame | None = None) -> None:
        self._id = checkpoint_id
        self._own = sharing is not Sharing.APPEND
        self._refers = sharing is Sharing.REFER
        self._frame = frame
        self._logs = 0
        self.appends: list[Append] = []

    def append(self, data: bytes, base: Part | None = None) -> Span:
        """Append bytes to the base's log, or begin a new one."""
        if base is not None and base.open_end and not self._own:
            log, _, at = base.spans[-1]
        else:
            log, at = f"{self._id}.{self._logs}", 0
            self._logs += 1
        stored = self._frame(log, at, data) if self._frame else data
        self.appends.append(Append(log, at, stored))
        return Span(log, at, at + len(stored))

    def keeps(self, size: int) -> bool:
        """Whether this many bytes at a value's end stay in the checkpoint itself."""
        return self._refers and size <= _TAIL

    @property
    def framed(self) -> bool:
        """Whether logs hold coded portions, so that an offset in a body is not the same in its log."""
        return self._frame is not None


def whole(body: Body, writer: Writer) -> Part:
    """A part that shares nothing."""
    data = body.packed[body.start :] if body.start else body.packed
    return Part(body.kind, body.count, [writer.append(data)], data, len(data), xxh3_128(data), framed=writer.framed)


def shared(body: Body, base: Part, writer: Writer) -> Part | None:
    """A part that shares with the base. None if that is not worth it."""
    if base.framed is not writer.framed:  # since then, a codec was added or removed
        return None
    if base.begins(body.packed, body.start):
        return longer(base, body.packed[body.start + base.length :], body.count, writer)
    if body.kind not in (LIST, DICT) or writer.framed:
        return None
    return _pieced(body, base, writer)


def longer(base: Part, data: bytes, count: int, writer: Writer) -> Part:
    """The base, longer by these bytes. The tail that the base itself held goes along."""
    new = base.end + data if base.tail else data
    if not new:
        return base
    if writer.keeps(len(new)):
        return base.grown(data, count, base.spans, len(new))
    return base.grown(data, count, joined([*base.spans, writer.append(new, base)]))


def _ends_open(last: _Run, base: Part, added: Span | None) -> bool:
    """Whether the last span ends where its log does."""
    if last.at < 0:
        return True
    behind = added is not None and added.log == base.spans[-1].log
    return base.open_end and not behind and last.at + last.last - last.first == base.length


class _Run(NamedTuple):
    """Pieces of the new body, each with the offset at which the base has the same bytes (-1: it does not)."""

    first: int
    last: int
    at: int


def _pieced(body: Body, base: Part, writer: Writer) -> Part | None:
    data = body.packed[body.start :]
    runs = list(_worthwhile(_runs(body.kind, data, base.body[: base.length - base.tail])))
    kept = [run for run in runs if run.at >= 0]
    if not kept:
        return None
    spans = [span for run in kept for span in cut(base.spans, run.at, run.at + run.last - run.first)]
    if len(spans) + len(runs) > max(16, len(data) // _PIECE) or len({span.log for span in spans}) > _MOST_LOGS:
        return None
    new = b"".join([data[run.first : run.last] for run in runs if run.at < 0])
    at_end = runs[-1].at < 0 and len(new) == runs[-1].last - runs[-1].first
    tail = len(new) if at_end and writer.keeps(len(new)) else 0
    added = writer.append(new, base) if new and not tail else None
    return Part(
        body.kind,
        body.count,
        joined(_laid_out(runs, base.spans, added)),
        data,
        len(data),
        xxh3_128(data),
        open_end=not tail and _ends_open(runs[-1], base, added),
        tail=tail,
    )


def _runs(kind: str, data: bytes, base: bytes) -> Iterator[_Run]:
    """The new body item by item, with adjacent ones joined."""
    places: dict[bytes, int] = {}
    start = 0
    for end in item_ends(kind, base):
        places.setdefault(base[start:end], start)
        start = end
    run = _Run(0, 0, -1)
    start = 0
    for end in item_ends(kind, data):
        item = data[start:end]
        follows = run.at + run.last - run.first
        at = follows if run.at >= 0 and base.startswith(item, follows) else places.get(item, -1)
        if (run.at < 0 and at < 0) or (run.at >= 0 and at == follows):
            run = _Run(run.first, end, run.at)
        else:
            if run.last > run.first:
                yield run
            run = _Run(start, end, at)
        start = end
    if run.last > run.first:
        yield run


def _worthwhile(runs: Iterator[_Run]) -> Iterator[_Run]:
    """The pieces, with short matches counted as new, and adjacent new ones joined."""
    new: _Run | None = None
    for run in runs:
        if run.at >= 0 and run.last - run.first >= _LEAST_RUN:
            if new:
                yield new
            yield run
            new = None
        else:
            new = _Run(new.first if new else run.first, run.last, -1)
    if new:
        yield new


def _laid_out(runs: list[_Run], spans: list[Span], added: Span | None) -> Iterator[Span]:
    used = 0
    for run in runs:
        length = run.last - run.first
        if run.at >= 0:
            yield from cut(spans, run.at, run.at + length)
        elif added is not None:
            yield Span(added.log, added.first + used, added.first + used + length)
            used += length
