"""Lines: calls that follow a thread's checkpoints from one to the one before, as agents do that look for their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from ...contracts.checkpoint import CheckpointSummary
from ...contracts.errors import Corrupted
from ..commands import Ancestors, Timeline
from ..rows import CheckpointRow
from ..seals import read_commit
from ..snapshots import is_rollback, listed, open_summary
from . import Call

_PAGE = 200


def newest(thread: str, at: str | None, fits: Callable[[CheckpointSummary], bool]) -> Call[CheckpointSummary | None]:
    """The nearest checkpoint that fits on the line from which a thread goes on at `at`. Not on other threads.

    What a framework has put at a place is passed over: jobs don't go on from there, so the line is what was saved
    before it. If a part of the line was pruned, or has expired, all that is left from before counts.
    """
    last: CheckpointSummary | None = None
    while at:
        rows: list[CheckpointRow] = yield Ancestors(at)
        if not rows and last is not None:
            left = yield from _first(thread, last.id, lambda row: fits(listed(row)))
            return listed(left) if left else None
        at = None
        for row in rows:
            last = open_summary(row)
            if last.thread != thread:
                return None
            if fits(last):
                return last
            if _is_passed_over(row):
                before = yield from _first(thread, row.id, lambda row: not _is_passed_over(row))
                at = before.id if before else None
                break
            at = last.parent_id
    return None


def newest_of_each(rows: Sequence[CheckpointRow]) -> set[str]:
    """What `newest` finds for each agent, given all checkpoints of a thread, the newest first. What was saved by hand,
    outside of jobs, is no agent's. Without the keys of what is encrypted, nobody knows whose it is: `MissingKey`."""
    places, found = {row.id: at for at, row in enumerate(rows)}, dict[tuple[str, str], str]()
    at, is_whole = 0, True
    while at < len(rows):
        row, at = rows[at], at + 1
        with suppress(Corrupted):
            commit = read_commit(row.commit, row.id)
            summary = open_summary(row)
            if commit.place is None and (summary.job or summary.framework != "python"):
                found.setdefault((summary.agent, summary.framework), row.id)
            if is_whole and not _is_passed_over(row):
                if not commit.parent:
                    break
                is_whole = commit.parent in places
                at = max(at, places.get(commit.parent, at))
    return set(found.values())


def _first(thread: str, before: str, fits: Callable[[CheckpointRow], bool]) -> Call[CheckpointRow | None]:
    """The newest checkpoint that was saved before another one and fits, whatever its line."""
    while True:
        rows: list[CheckpointRow] = yield Timeline(thread, _PAGE, before)
        for row in rows:
            if fits(row):
                return row
        if len(rows) < _PAGE:
            return None
        before = rows[-1].id


def _is_passed_over(row: CheckpointRow) -> bool:
    """Whether a framework has put a checkpoint at a place. One by which somebody took the thread back says where the
    line goes on."""
    return read_commit(row.commit, row.id).place is not None and not is_rollback(row)
