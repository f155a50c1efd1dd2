"""Reopening: where a run is deleted that had answered what another one asked, the superstep asks again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME

from ...contracts.errors import Corrupted
from ...coordinator.calls.places import Found
from ...coordinator.rows import PlaceRow, Write
from ...coordinator.seals import read_commit
from .carrier import Carrier
from .compact import read_name
from .writes import notes_of, read_write

# As LangGraph calls who gives a command's answers and updates to all tasks.
_NOBODY = "00000000-0000-0000-0000-000000000000"


def reopens(rows: Sequence[PlaceRow], goes: Collection[str]) -> list[PlaceRow]:
    """Places that stay, of which all that came from them goes: their supersteps have not ended any more."""
    stays = [row for row in rows if row.checkpoint.id not in goes]
    before = {_parent(row) for row in rows if row.checkpoint.id in goes} - {_parent(row) for row in stays}
    return [row for row in stays if row.checkpoint.id in before]


def reopened(found: Found, carrier: Carrier, where: str) -> list[Write]:
    """What is to be written where a superstep had asked, so that it does again: what its answered tasks made of the
    last answers goes, and these. What is not known is which run gave which answer: all count for the last one."""
    names = {write.name: read_name(write.name) for write in found.writes}
    asked = {task for index, task in names.values() if index == WRITES_IDX_MAP[INTERRUPT]}
    changed: list[Write] = []
    for write in found.writes if asked else ():
        index, task = names[write.name]
        if task in asked and index == WRITES_IDX_MAP[RESUME]:
            path, _, answers = read_write(write, found.opened.row, carrier, where)
            given: list[Any] = []
            if isinstance(answers, list):
                given += answers
            if given[1:]:
                changed += [note.write() for note in notes_of([(RESUME, given[:-1])], task, path, carrier)]
                continue
        elif task != _NOBODY and not (task in asked and index >= 0):
            continue
        changed.append(Write(write.name, b"", gone=True))
    return changed


def _parent(row: PlaceRow) -> str:
    try:
        return read_commit(row.checkpoint.commit, row.checkpoint.id).parent
    except Corrupted:
        return ""
