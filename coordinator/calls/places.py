"""Places: calls about where frameworks put checkpoints, to find them by names of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from ...contracts.checkpoint import Snapshot
from ...contracts.errors import Corrupted
from ...contracts.lean import dataclass
from ..coded.codec import Codec
from ..commands import Drop, Fence, Find, Freed, Places, Put, ReadSpans
from ..parts.nodes import Base
from ..parts.spans import Span, read_spans
from ..parts.writer import Sharing
from ..place_writes import is_framed
from ..refusals import Ungrounded
from ..rows import Place, PlaceRow, Write
from ..snapshots import Draft, Opened, draft, open_row
from . import Call

# How many checkpoints are read or freed at once.
PAGE = 50
_MOST = 500
_SHARING = tuple(Sharing)  # faster than iterating over the enumeration


@dataclass(slots=True)  # not frozen: one is made with every put
class Putting:
    """What to put, and where. `parent` and `tip` are those of the command. `writes` is called with what will be put,
    so that writes can refer to its logs."""

    thread: str
    place: Place
    parent: str
    tip: str | None = None
    fence: Fence | None = None
    ttl: int = 0
    codec: Codec | None = None
    soon: bool = False
    writes: Callable[[Draft], Sequence[Write]] = field(default=lambda _: ())


def put(putting: Putting, snapshot: Snapshot, base: Base | None) -> Call[Draft]:
    """Commit a checkpoint at its place. What it shares with `base` is not sent."""
    for sharing in _SHARING if base else _SHARING[-1:]:
        made = _draft(putting, snapshot, base, sharing)
        writes = putting.writes(made)
        try:
            yield Put(made.new, putting.parent, putting.tip, putting.fence, writes, putting.soon)
        except Ungrounded:
            continue
        return made
    raise Corrupted(f"the store refuses a whole state of thread {putting.thread!r}: its logs have changed")


def _draft(putting: Putting, snapshot: Snapshot, base: Base | None, sharing: Sharing) -> Draft:
    return draft(
        snapshot,
        thread=putting.thread,
        agent="",
        ttl=putting.ttl,
        base=base,
        sharing=sharing,
        codec=putting.codec,
        place=putting.place,
    )


@dataclass(slots=True)
class Found:
    """Opens a place that was read."""

    place: Place
    opened: Opened
    writes: Sequence[Write]


def find(thread: str, scope: str, key: str) -> Call[Found | None]:
    """A place's checkpoint, or without a key the scope's latest. If it was freed while it was read, it is read
    again."""
    row: PlaceRow | None = yield Find(thread, scope, key)
    opened = open_row(row.checkpoint) if row else None
    if opened is not None and opened.damaged:
        row = yield Find(thread, scope, key)
        opened = open_row(row.checkpoint) if row else None
    return Found(row.place, opened, row.writes) if row and opened else None


def page(
    thread: str, scope: str | None, before: tuple[str, str] | None, limit: int, *, whole: bool
) -> Call[list[PlaceRow]]:
    """The next places of a thread, the greatest key first."""
    rows: list[PlaceRow] = yield Places(thread, scope, before, min(limit, PAGE), whole)
    return rows


def every(thread: str, *, whole: bool) -> Call[list[PlaceRow]]:
    """All places of a thread that have a checkpoint."""
    rows: list[PlaceRow] = []
    before: tuple[str, str] | None = None
    while True:
        found: list[PlaceRow] = yield Places(thread, None, before, PAGE, whole)
        if not found:
            return rows
        rows += found
        before = (found[-1].place.key, found[-1].place.scope)


def bodies(thread: str, texts: Iterable[str]) -> Call[dict[Span, bytes]]:
    """What the spans of several checkpoints and writes hold. Shared spans are read once."""
    wanted = dict.fromkeys(span for text in texts for span in read_spans(text))
    union = _united(wanted)
    if not union:
        return {}
    data: list[bytes] = yield ReadSpans(thread, tuple(union))
    held = {span.log: [(each, part) for each, part in zip(union, data, strict=True) if each.log == span.log]
            for span in union}  # fmt: skip
    return {span: _cut(span, held[span.log]) for span in wanted}


def written(thread: str, rows: Sequence[PlaceRow]) -> Call[list[Sequence[Write]]]:
    """What was written at the places of a page, with what is in logs of it. A place where a codec has framed that is
    read again on its own."""
    held = yield from bodies(thread, [write.spans for row in rows for write in row.writes])
    found: list[Sequence[Write]] = []
    for row in rows:
        writes: Sequence[Write] = [filled(write, held) for write in row.writes]
        if any(is_framed(write) for write in writes):
            again: PlaceRow | None = yield Find(thread, row.place.scope, row.place.key)
            writes = again.writes if again else ()
        found.append(writes)
    return found


def filled(write: Write, held: Mapping[Span, bytes]) -> Write:
    """A write with the contents of its spans."""
    return replace(write, bodies=tuple(held[span] for span in read_spans(write.spans))) if write.spans else write


def _united(spans: Iterable[Span]) -> list[Span]:
    """The smallest set of spans that covers all of these."""
    union: list[Span] = []
    for span in sorted(spans):
        if union and union[-1].log == span.log and span.first <= union[-1].last:
            union[-1] = Span(span.log, union[-1].first, max(union[-1].last, span.last))
        else:
            union.append(span)
    return union


def _cut(span: Span, held: Sequence[tuple[Span, bytes]]) -> bytes:
    around, data = next((each, data) for each, data in held if each.first <= span.first and span.last <= each.last)
    return data[span.first - around.first : span.last - around.first]


def drop(thread: str, checkpoints: Sequence[str]) -> Call[int]:
    """Free checkpoints of a thread. Returns how many."""
    count, at = 0, 0
    while at < len(checkpoints):
        freed: Freed = yield Drop(thread, tuple(checkpoints[at : at + _MOST]))
        count += freed.count
        at += freed.next if freed.next >= 0 else _MOST
    return count
