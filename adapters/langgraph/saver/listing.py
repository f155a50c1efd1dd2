"""Listing: the checkpoints of a thread, or of all threads, page by page."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from ....contracts.errors import Corrupted
from ....coordinator.calls import Call, places
from ....coordinator.calls.places import PAGE, Found
from ....coordinator.commands import Find, Threads
from ....coordinator.parts.spans import Span, read_spans
from ....coordinator.rows import PlaceRow
from ....coordinator.seals import read_commit
from ....coordinator.snapshots import open_row, open_summary
from ..record.reading import Reading
from ..serde.wrapper import Wrapper
from .checkpoints import Checkpoints, read_tuple

_log = logging.getLogger("batonpass.langgraph")


class Listing:
    """What a `list` has still to yield. `wanted` is a thread, a namespace and a checkpoint, None (or "") for any.
    `filter` is what the metadata must have. `before` is a checkpoint's id."""

    def __init__(
        self,
        shared: Checkpoints,
        wrapper: Wrapper,
        wanted: tuple[str | None, str | None, str],
        filter: Mapping[str, Any],
        before: str,
        limit: int | None,
    ) -> None:
        thread, self._scope, self._key = wanted
        self._shared = shared
        self._wrapper = wrapper
        self._filter = filter
        self._before = before
        self._left = limit
        self._threads: list[str] = [] if thread is None else [thread]
        self._after: str | None = "" if thread is None else None
        self._at: tuple[str, str] | None = None
        self._begin()

    def more(self) -> Call[list[CheckpointTuple] | None]:
        """The next checkpoints, maybe an empty list. None at the end."""
        if self._left is not None and self._left <= 0:
            return None
        if not self._threads:
            return (yield from self._more_threads())
        thread = self._threads[0]
        rows = yield from self._page(thread)
        if not rows:
            self._threads.pop(0)
            self._begin()
            return []
        fitting = [row for row in rows if self._fits(row)][: self._left]
        found = yield from self._read(thread, fitting)
        if self._left is not None:
            self._left -= len(found)
        return found

    def _begin(self) -> None:
        self._at = (self._before, "") if self._before else None

    def _more_threads(self) -> Call[list[CheckpointTuple] | None]:
        if self._after is None:
            return None
        names: list[str] = yield Threads(after=self._after)
        self._threads = names
        self._after = names[-1] if names else None
        return []

    def _page(self, thread: str) -> Call[list[PlaceRow]]:
        """The next rows of a thread."""
        if self._key and self._scope is not None:
            row: PlaceRow | None = yield Find(thread, self._scope, self._key)
            done, self._at = self._at == (self._key, ""), (self._key, "")
            return [row] if row and not done and (not self._before or self._key < self._before) else []
        whole = self._shared.codec is None
        limit = PAGE if self._left is None or self._filter else self._left
        rows = yield from places.page(thread, self._scope, self._at, limit, whole=whole)
        if rows:
            self._at = (rows[-1].place.key, rows[-1].place.scope)
        return rows

    def _fits(self, row: PlaceRow) -> bool:
        if self._key and row.place.key != self._key:
            return False
        try:
            metadata: Mapping[str, Any] = open_summary(row.checkpoint).context if self._filter else {}
        except Corrupted as error:
            _log.warning("left out of a list: %s", error)
            return False
        return all(self._wrapper.unwrap(metadata.get(name)) == value for name, value in self._filter.items())

    def _read(self, thread: str, rows: Sequence[PlaceRow]) -> Call[list[CheckpointTuple]]:
        if self._shared.codec is not None:
            return (yield from self._read_each(thread, rows))
        texts = [self._spans(row) for row in rows]
        held = yield from places.bodies(thread, [*texts, *(write.spans for row in rows for write in row.writes)])
        reading = Reading()
        found: list[CheckpointTuple] = []
        with reading.undisturbed():
            for row, text in zip(rows, texts, strict=True):
                try:
                    opened = open_row(replace(row.checkpoint, bodies=_held(held, text)))
                    whole = Found(row.place, opened, [places.filled(write, held) for write in row.writes])
                    found.append(read_tuple(self._wrapper, thread, whole, reading=reading))
                except Corrupted as error:
                    _log.warning("left out of a list: %s", error)
        return found

    def _read_each(self, thread: str, rows: Sequence[PlaceRow]) -> Call[list[CheckpointTuple]]:
        """Read them one by one: what a codec has framed can't be put together from spans that several share."""
        found: list[CheckpointTuple] = []
        for row in rows:
            try:
                each = yield from places.find(thread, row.place.scope, row.place.key)
                if each is not None:
                    found.append(read_tuple(self._wrapper, thread, each))
            except Corrupted as error:
                _log.warning("left out of a list: %s", error)
        return found

    def _spans(self, row: PlaceRow) -> str:
        try:
            return read_commit(row.checkpoint.commit, row.checkpoint.id).spans
        except Corrupted:
            return ""  # opening it reports that


def _held(held: Mapping[Span, bytes], text: str) -> tuple[bytes, ...]:
    return tuple(held[span] for span in read_spans(text))
