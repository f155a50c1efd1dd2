"""Reopening: where a run is deleted that had gone on from where another one had stopped, the superstep is open again.

At a question it asks again, at a breakpoint or after an error its nodes run again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME

from ...contracts.errors import Corrupted
from ...coordinator.calls.places import Found
from ...coordinator.rows import PlaceRow, Write
from ...coordinator.seals import read_commit
from ...coordinator.snapshots import open_summary
from .carrier import Carrier
from .compact import read_name
from .writes import notes_of, read_write

# As LangGraph calls who gives a command's answers and updates to all tasks.
_NOBODY = "00000000-0000-0000-0000-000000000000"


def reopens(rows: Sequence[PlaceRow], goes: Collection[str]) -> list[tuple[PlaceRow, bool]]:
    """Places that stay, of which all that came from them goes: their supersteps have not ended any more. True: it went
    on with the superstep, with no new input."""
    stays = [row for row in rows if row.checkpoint.id not in goes]
    on: dict[str, bool] = {}
    for row in rows:
        if row.checkpoint.id in goes:
            parent = _parent(row)
            on[parent] = on.get(parent, False) or open_summary(row.checkpoint).context.get("source") == "loop"
    for row in stays:
        on.pop(_parent(row), None)
    return [(row, on[row.checkpoint.id]) for row in stays if row.checkpoint.id in on]


def reopened(found: Found, carrier: Carrier, where: str, *, went_on: bool) -> list[Write]:
    """What is to be written where a superstep had stopped, so that it does again: what tasks made that had asked or
    failed goes, and the last answers. Where none had, it was at a breakpoint: all goes. What is not known is which run
    wrote what: all answers count for the last one, and so do tasks that a killed run had finished."""
    names = {write.name: read_name(write.name) for write in found.writes}
    asked = {task for index, task in names.values() if index == WRITES_IDX_MAP[INTERRUPT]}
    failed = {task for index, task in names.values() if index == WRITES_IDX_MAP[ERROR]} if went_on else set[str]()
    open_again = asked | failed
    if went_on and not open_again:
        return [Write(write.name, b"", gone=True) for write in found.writes]
    changed: list[Write] = []
    for write in found.writes if open_again else ():
        index, task = names[write.name]
        if task in asked and index == WRITES_IDX_MAP[RESUME]:
            path, _, answers = read_write(write, found.opened.row, carrier, where)
            given: list[Any] = []
            if isinstance(answers, list):
                given += answers
            if given[1:]:
                changed += [note.write() for note in notes_of([(RESUME, given[:-1])], task, path, carrier)]
                continue
        elif task != _NOBODY and not (task in open_again and index >= 0):
            continue
        changed.append(Write(write.name, b"", gone=True))
    return changed


def _parent(row: PlaceRow) -> str:
    try:
        return read_commit(row.checkpoint.commit, row.checkpoint.id).parent
    except Corrupted:
        return ""
