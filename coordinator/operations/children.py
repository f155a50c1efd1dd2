"""Fan-outs: a job waits for its children, without a lease."""

from __future__ import annotations

from ...contracts import event as kinds
from ..commands import ReadOutcomes, Spawn, Stage
from ..records import Records
from ..refusals import refusal
from ..rows import OutcomeRow
from .brood import make
from .holders import closing
from .jobs import emit, free_slot, held, pause, store


def stage(records: Records, command: Stage) -> None:
    """Store children for a fan-out that is being prepared. The same again changes nothing."""
    row = held(records, command.fence)
    assert row is not None
    staged = records.count_staged(row.id)
    if command.at and staged == command.at + len(command.children):
        return
    if command.at not in (0, staged):
        raise refusal("unstaged", row.id, str(staged), str(command.at))
    if not command.at:
        records.unstage(row.id)
    records.stage(row.id, command.children)


def spawn(records: Records, command: Spawn) -> None:
    """The children become jobs, and the job waits for them."""
    row = held(records, command.fence, "spawn")
    if row is None:
        return
    staged = records.count_staged(row.id)
    if staged + len(command.children) != command.total:
        raise refusal("unstaged", row.id, str(staged), str(command.total - len(command.children)))
    row = closing(records, command.fence, "spawn", command.checkpoint)
    assert row is not None
    records.put_journal(row.id, command.records)
    row.state, row.reason = "working", "waiting_children"
    row.fan, row.verdict = command.fan, ""
    row.children, row.need, row.spare = command.total, command.need, command.spare
    row.done = row.lost = 0
    pause(records, row)
    emit(records, kinds.FANNED_OUT, row, checkpoint=row.tip, children=row.children)
    store(records, row)
    if staged:
        records.put_chore("opening", row.id)
    make(records, row, command.children)
    row = records.job(row.id) or row  # children that have ended are counted
    free_slot(records, row)
    store(records, row)


def outcomes(records: Records, command: ReadOutcomes) -> list[OutcomeRow]:
    """A page of how children ended."""
    return records.outcomes(command.job_id, command.fan, command.start, command.limit)
