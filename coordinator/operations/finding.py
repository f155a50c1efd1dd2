"""Finding checkpoints by their places."""

from __future__ import annotations

from dataclasses import replace

from ...contracts.errors import Corrupted
from ..commands import Find, OfRun, Places, ReadSpans, Walk
from ..parts.spans import read_spans as spans_in
from ..records import Records
from ..rows import CheckpointRow, CommitLine, PlaceRow, Write
from ..seals import read_commit
from .checkpoints import whole
from .travel import has_expired

# Bytes of records after which a walk stops, to limit its answer.
_ENOUGH = 65_536


def find(records: Records, command: Find) -> PlaceRow | None:
    """The checkpoint of a place, or the latest of its scope."""
    found = records.placed(command.thread, command.scope, 1, key=command.key or None, whole=True)
    for place, row in found:
        writes = [_whole_write(records, write) for write in records.writes(command.thread, place.scope, place.key)]
        return PlaceRow(place, whole(records, row), writes)
    return None


def _whole_write(records: Records, write: Write) -> Write:
    if not write.spans:
        return write
    return replace(write, bodies=tuple([records.read_log(span) for span in spans_in(write.spans)]))


def places(records: Records, command: Places) -> list[PlaceRow]:
    """A page of places."""
    found = records.placed(command.thread, command.scope, command.limit, before=command.before, whole=command.whole)
    return [
        PlaceRow(place, row, records.writes(command.thread, place.scope, place.key) if command.whole else ())
        for place, row in found
    ]


def walk(records: Records, command: Walk) -> list[PlaceRow]:
    """A place and its ancestors, as long as they are in the thread, have a place, and can be read."""
    found: list[PlaceRow] = []
    size = 0
    for place, first in records.placed(command.thread, command.scope, 1, key=command.key, whole=True):
        row: CheckpointRow | None = first
        commit = _commit(first)
        while row is not None and len(found) < command.limit and size <= _ENOUGH:
            writes = records.writes(command.thread, place.scope, place.key)
            found.append(PlaceRow(place, row, writes))
            size += len(row.header) + len(row.state) + len(row.native) + sum(len(write.data) for write in writes)
            if row.id == command.until:
                break
            row, commit = _parent(records, row, commit)
            place = commit.place if commit and commit.place else place
    return found


def _commit(row: CheckpointRow) -> CommitLine | None:
    try:
        return read_commit(row.commit, row.id)
    except Corrupted:
        return None


def _parent(
    records: Records, row: CheckpointRow, commit: CommitLine | None
) -> tuple[CheckpointRow | None, CommitLine | None]:
    """A checkpoint's parent and that one's commit line. Nothing if the walk ends there."""
    parent = records.checkpoint(commit.parent) if commit else None
    found = _commit(parent) if parent is not None and parent.thread == row.thread else None
    if parent is None or found is None or found.place is None or has_expired(records, parent, found):
        return None, None
    return parent, found


def read_spans(records: Records, command: ReadSpans) -> list[bytes]:
    """What spans of logs hold."""
    return [records.read_log(span) for span in command.spans]


def of_run(records: Records, command: OfRun) -> list[tuple[str, str]]:
    """The checkpoints of a run."""
    return records.of_run(command.run, command.limit)
