"""Lineage: which checkpoints of a thread the values of delta channels are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....contracts.errors import Corrupted
from ....coordinator.calls import Call, places
from ....coordinator.parts.stored import NATIVE
from ....coordinator.rows import PlaceRow
from ....coordinator.snapshots import open_row, open_summary
from ..record.bookkeeping import COUNTERS
from ..record.checkpoint import opened
from ..record.compact import large_id
from .outlines import Outline, Outlines


class Lineage:
    """Follows checkpoints to their parents. What it reads of them is remembered."""

    def __init__(self, outlines: Outlines) -> None:
        self._outlines = outlines

    def needed(self, thread: str, rows: Sequence[PlaceRow], stays: Iterable[PlaceRow]) -> Call[set[str]]:
        """The ancestors that the delta channels of what stays are made of, back to where each was kept as a whole."""
        open_ends = [(row, counted) for row in stays if (counted := _counted(row))]
        if not open_ends:
            return set()
        whole = {row.checkpoint.id: row for row in (yield from places.every(thread, whole=True))}
        by_key = {(row.place.scope, row.place.key): row.checkpoint.id for row in rows}
        needed: set[str] = set()
        walked: set[tuple[str, frozenset[str]]] = set()
        for row, counted in open_ends:
            at, channels = row.checkpoint.id, counted
            while at in whole and (at, channels) not in walked:
                walked.add((at, channels))
                outline = yield from self.outline(thread, whole[at])
                channels = frozenset(name for name in channels if name in outline.versions and name not in outline.kept)
                if not channels:
                    break
                at = by_key.get((row.place.scope, outline.parent), "")
                needed |= {at} if at else set()
        return needed

    def outline(self, thread: str, row: PlaceRow) -> Call[Outline]:
        """A checkpoint's outline. Reads its values in logs only if its record is not enough."""
        known = self._outlines.get(row.checkpoint.id)
        if known is not None:
            return known
        bare = open_row(row.checkpoint)
        state, native = bare.roots
        if any(part.root == NATIVE or not part.path for part in bare.parts):
            found = yield from places.find(thread, row.place.scope, row.place.key)
            if found is None:
                return Outline("", {}, frozenset())
            stored = found.opened.checkpoint
            state, native = stored.state, stored.native
        elif None in bare.roots:
            raise Corrupted(f"checkpoint {row.checkpoint.id}: it is not what was saved; older ones may be readable")
        read, frame = opened(native, row.checkpoint.id)
        outline = Outline(large_id(frame.parent), frame.versions, frozenset([*state, *read.get("hidden", ())]))
        self._outlines.put(row.checkpoint.id, outline)
        return outline


def _counted(row: PlaceRow) -> frozenset[str]:
    """The delta channels whose values a checkpoint may lack."""
    return frozenset(open_summary(row.checkpoint).context.get(COUNTERS) or ())
