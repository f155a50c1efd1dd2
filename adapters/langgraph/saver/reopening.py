"""Reopening: if a run is deleted that had continued where another one had stopped, that superstep is open again.

A question is asked again. After a breakpoint or an error, the superstep's nodes run again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME

from ....contracts.errors import Corrupted
from ....coordinator.calls.places import Found
from ....coordinator.rows import PlaceRow, Write
from ....coordinator.seals import read_commit
from ....coordinator.snapshots import open_summary
from ..record.compact import read_name
from ..record.pending_writes import pack_writes, read_write
from ..serde.wrapper import Wrapper

# LangGraph's task id for the answers and updates of a command, which are for all tasks.
_NOBODY = "00000000-0000-0000-0000-000000000000"


def reopens(rows: Sequence[PlaceRow], goes: Collection[str]) -> list[tuple[PlaceRow, bool]]:
    """The places that stay while everything that came from them goes, so that their supersteps are unfinished again.
    Each with whether what goes had continued the superstep, without new input."""
    stays = [row for row in rows if row.checkpoint.id not in goes]
    on: dict[str, bool] = {}
    for row in rows:
        if row.checkpoint.id in goes:
            parent = _parent(row)
            on[parent] = on.get(parent, False) or open_summary(row.checkpoint).context.get("source") == "loop"
    for row in stays:
        on.pop(_parent(row), None)
    return [(row, on[row.checkpoint.id]) for row in stays if row.checkpoint.id in on]


def reopened(found: Found, wrapper: Wrapper, where: str, *, went_on: bool) -> list[Write]:
    """The writes that make a superstep stop again where it had stopped. They drop the last answers, and what the tasks
    wrote that had asked or failed. If no task had, it had stopped at a breakpoint, and they drop everything.

    It is not known which run wrote what. So all answers count as the last run's, and so do the tasks that a killed run
    had finished.
    """
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
            path, _, answers = read_write(write, found.opened.row, wrapper, where)
            given: list[Any] = []
            if isinstance(answers, list):
                given += answers
            if given[1:]:
                changed += [packed.write() for packed in pack_writes([(RESUME, given[:-1])], task, path, wrapper)]
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
