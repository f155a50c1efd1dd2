"""Sharing: which bytes of a value its base already keeps, and where the new ones go."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from xxhash import xxh3_128

from .body import Body
from .layout import MOST_LOGS, Layout, runs_of
from .nodes import Part
from .pieces import matches
from .spans import Append, Span, joined

# A value in more pieces than one for so many bytes is written anew, because reading it would take too many lookups.
_PIECE, _FEW = 4096, 32
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
        self.owns = sharing is not Sharing.APPEND  # new logs alone are written to
        self._refers = sharing is Sharing.REFER
        self._frame = frame
        self._logs = 0
        self.appends: list[Append] = []

    def append(self, data: bytes, base: Part | None = None) -> Span:
        """Append bytes to the base's log, or begin a new one."""
        ends = self.ends(base) if base is not None else {}
        log = base.spans[-1].log if base is not None else ""
        return self.add(log, ends[log], data) if log in ends else self.add(self.new_log(), 0, data)

    def ends(self, base: Part) -> dict[str, int]:
        """Where the base's logs end, to which bytes may be appended."""
        return {} if self.owns else base.ends()

    def new_log(self) -> str:
        """The name of another log."""
        self._logs += 1
        return f"{self._id}.{self._logs - 1}"

    def add(self, log: str, at: int, data: bytes) -> Span:
        """Append bytes to a log, which ends at this offset."""
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
    return None if writer.framed else _pieced(body, base, writer)


def longer(base: Part, data: bytes, count: int, writer: Writer) -> Part:
    """The base, longer by these bytes. The tail that the base itself held goes along."""
    new = base.end + data if base.tail else data
    if not new:
        return base
    if writer.keeps(len(new)):
        return base.grown(data, count, base.spans, base.closed, len(new))
    closed = frozenset(span.log for span in base.spans if span.log not in writer.ends(base))
    return base.grown(data, count, joined([*base.spans, writer.append(new, base)]), closed)


def _pieced(body: Body, base: Part, writer: Writer) -> Part | None:
    data = body.packed[body.start :]
    runs = runs_of(matches(body.kind, data, base.body[: base.length - base.tail]))
    kept = [run for run in runs if run.at >= 0]
    most = max(_FEW, len(data) // _PIECE)
    if not 0 < len(kept) <= most or sum(run.last - run.first for run in runs) != len(data):
        return None  # too many spans; or some bytes are in no piece, which would be lost
    end = kept[-1].last  # behind it, all is new
    tail = len(data) - end if runs[len(kept) - 1] is kept[-1] and writer.keeps(len(data) - end) else 0
    layout = Layout(data, base.spans, writer.ends(base), writer.new_log)
    layout.fill(kept if tail else runs, apart=not writer.owns)
    spans = joined(layout.spans)
    if len(spans) > most or len({span.log for span in spans}) > MOST_LOGS:
        return None
    for append in layout.appends:
        writer.add(*append)
    hashed = xxh3_128(data)
    return Part(body.kind, body.count, spans, data, len(data), hashed, not tail, tail=tail, closed=layout.closed())
