"""Lines: calls that follow a thread's checkpoints from one to the one before, as agents do that look for their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from contextlib import suppress

from ...contracts.checkpoint import CheckpointSummary
from ...contracts.errors import Corrupted
from ..commands import Ancestors, Timeline
from ..rows import CheckpointRow
from ..seals import read_commit
from ..snapshots import is_rollback, open_summary
from . import Call

_PAGE = 200


def newest(thread: str, at: str | None, fits: Callable[[CheckpointSummary], bool]) -> Call[CheckpointSummary | None]:
    """The nearest checkpoint that fits on the line from which a thread goes on at `at`. Not on other threads.

    What a framework has put at a place is passed over: jobs don't go on from there, so the line is what was saved
    before it. So it is where a part of the line was pruned, or has expired.
    """
    last: CheckpointSummary | None = None
    while at:
        rows: list[CheckpointRow] = yield Ancestors(at)
        at, goes_before = None, not rows
        for row in rows:
            last = open_summary(row)
            if last.thread != thread:
                return None
            if fits(last):
                return last
            if goes_before := _is_passed_over(row):
                break
            at = last.parent_id
        if goes_before and last is not None:
            at = yield from _saved_before(thread, last.id)
    return None


def newest_of_each(rows: Sequence[CheckpointRow], stays: Set[str]) -> set[str]:
    """What `newest` finds for each agent, given all checkpoints of a thread, the newest first, and to which ones those
    of them that stay have taken it back. What was saved by hand, outside of jobs, is no agent's. Without the keys of
    what is encrypted, nobody knows whose it is: `MissingKey`."""
    places = {row.id: at for at, row in enumerate(rows)}
    found: dict[tuple[str, str], str] = {}
    back: dict[str, str] = {}
    onward = 0
    for at, row in enumerate(rows):
        if at < onward:
            continue
        with suppress(Corrupted):
            commit = read_commit(row.commit, row.id)
            summary = open_summary(row)
            if commit.place is None and (summary.job or summary.framework != "python"):
                found.setdefault((summary.agent, summary.framework), row.id)
            if _is_passed_over(row):
                continue
            if is_rollback(row):
                back[row.id] = commit.parent
            if not commit.parent:
                break
            onward = places.get(commit.parent, 0)
    agents = set(found.values())
    return agents | {to for each, to in back.items() if each in stays or each in agents}


def _saved_before(thread: str, before: str) -> Call[str | None]:
    """The newest checkpoint that was saved before another one and is not passed over."""
    while True:
        rows: list[CheckpointRow] = yield Timeline(thread, _PAGE, before)
        for row in rows:
            with suppress(Corrupted):
                if not _is_passed_over(row):
                    return row.id
        if len(rows) < _PAGE:
            return None
        before = rows[-1].id


def _is_passed_over(row: CheckpointRow) -> bool:
    """Whether a framework has put a checkpoint at a place. One by which somebody took the thread back says where the
    line goes on."""
    return read_commit(row.commit, row.id).place is not None and not is_rollback(row)
