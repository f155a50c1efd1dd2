"""Writer: what a new checkpoint adds to logs."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, TypeAlias

from xxhash import xxh3_64_intdigest

from .framed import FRAME, Frame, portions
from .nodes import Part
from .spans import Append, Span

# If a fork adds no more than this at a value's end, it is stored in the fork itself, because a log of its own would
# take about 300 bytes on Redis. The checkpoint after it moves it to a log.
_TAIL = 1024


class Sharing(Enum):
    """How much of its base a checkpoint may use. If a store says `Ungrounded`, the next one is tried."""

    APPEND = "goes on where the base's logs end"
    REFER = "uses what is in the base's logs, and puts what is new into its own"
    NOTHING = "stands alone"


Wrap: TypeAlias = Callable[[str, int, bytes], bytes]
"""Makes a frame of bytes, for a log and an offset in it."""


class Written(NamedTuple):
    """Bytes that were added to a log, and in which frames, if it has such."""

    span: Span
    frames: tuple[Frame, ...] | None


class Writer:
    """What a new checkpoint adds to logs."""

    def __init__(self, checkpoint_id: str, sharing: Sharing, wrap: Wrap | None = None) -> None:
        self._id = checkpoint_id
        self.owns = sharing is not Sharing.APPEND  # new logs alone are written to
        self._refers = sharing is Sharing.REFER
        self._wrap = wrap
        self._logs = 0
        # From 0 to 1, by its id: one that is sent again is the same.
        self.drawn = xxh3_64_intdigest(checkpoint_id.encode()) / 2**64
        self.appends: list[Append] = []

    def append(self, data: bytes, base: Part | None = None) -> Written:
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

    def add(self, log: str, at: int, data: bytes, frame: int = FRAME) -> Written:
        """Append bytes to a log, which ends at this offset, in frames of this size, if it has such."""
        if self._wrap is None:
            self.appends.append(Append(log, at, data))
            return Written(Span(log, at, at + len(data)), None)
        end, stored, frames = at, list[bytes](), list[Frame]()
        for portion in portions(data, frame):
            stored.append(self._wrap(log, end, portion))
            frames.append(Frame(len(portion), len(stored[-1])))
            end += len(stored[-1])
        self.appends.append(Append(log, at, b"".join(stored)))
        return Written(Span(log, at, end), tuple(frames))

    def keeps(self, size: int) -> bool:
        """Whether this many bytes at a value's end stay in the checkpoint itself."""
        return self._refers and size <= _TAIL

    @property
    def framed(self) -> bool:
        """Whether logs hold coded portions, so that an offset in a body is not the same in its log."""
        return self._wrap is not None
