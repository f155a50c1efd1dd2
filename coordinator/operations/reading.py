"""Operations that only read."""

from __future__ import annotations

from ..commands import (
    Declared,
    FirstUse,
    Inbox,
    JobsOn,
    Latest,
    ListJobs,
    ReadJob,
    ReadKept,
    ReadLane,
    ReadTurns,
    Restore,
    Takers,
    Timeline,
)
from ..records import Records
from ..refusals import refusal
from ..rows import CheckpointRow, JobRow, KeptJob, LaneRow
from .checkpoints import whole
from .travel import hidden


def restore(records: Records, command: Restore) -> CheckpointRow:
    """One checkpoint. An expired one is gone, freed or not."""
    row = records.checkpoint(command.checkpoint_id)
    if row is None or hidden(records, row):
        raise refusal("no_checkpoint", command.checkpoint_id)
    return whole(records, row)


def latest(records: Records, command: Latest) -> CheckpointRow | None:
    """The newest checkpoint of a thread."""
    newest = records.checkpoints(command.thread, 1, "")
    row = records.checkpoint(newest[0].id) if newest else None
    return whole(records, row) if row else None


def timeline(records: Records, command: Timeline) -> list[CheckpointRow]:
    """A page of a thread's checkpoints."""
    if command.before:
        row = records.checkpoint(command.before)
        if row is None:
            raise refusal("no_checkpoint", command.before)
        if row.thread != command.thread:
            raise refusal("not_on", command.before, command.thread)
    return records.checkpoints(command.thread, command.limit, command.before, named=command.named)


def read_job(records: Records, command: ReadJob | ReadKept) -> JobRow:
    """One job."""
    row = records.job(command.job_id)
    if row is None:
        raise refusal("no_job", command.job_id)
    return row


def read_lane(records: Records, command: ReadLane) -> LaneRow:
    """Who has a place in a lane, and when its line moves."""
    return LaneRow(tuple(records.holders(command.lane, command.limit)), records.gate(command.lane))


def read_turns(records: Records, command: ReadTurns) -> list[str]:
    """Who has a thread, and who waits for it."""
    job = records.thread(command.thread).job
    return [job, *records.turns(command.thread, command.limit)] if job else []


def first_use(records: Records, command: FirstUse) -> JobRow | None:
    """The job that used a key first."""
    first = records.first_use(command.idem)
    return records.job(first[0]) if first else None


def read_kept(records: Records, command: ReadKept) -> KeptJob:
    """One job with what belongs to it."""
    row = read_job(records, command)
    return KeptJob(row, records.journal(row.id), records.all_outcomes(row.id))


def list_jobs(records: Records, command: ListJobs) -> list[JobRow]:
    """A page of jobs."""
    below = command.at, command.before
    if command.before and not command.at:
        row = read_job(records, ReadJob(command.before))
        below = row.updated if command.dead else row.created, row.id
    wanted = command.state, command.agent
    return records.jobs(command.limit, below, *wanted, dead=command.dead, children=command.children)


def jobs_on(records: Records, command: JobsOn) -> list[JobRow]:
    """A page of a thread's jobs."""
    below = command.at, command.before
    if command.before and not command.at:
        row = read_job(records, ReadJob(command.before))
        if row.thread != command.thread:
            raise refusal("no_job", command.before)
        below = row.created, row.id
    return records.newest_on(command.thread, command.limit, below)


def inbox(records: Records, command: Inbox) -> list[JobRow]:
    """A page of the jobs that ask."""
    return records.asking(command.limit, command.after, command.after_id)


def declared(records: Records, command: Declared) -> dict[str, bytes]:
    """All declarations."""
    return records.declared()


def takers(records: Records, command: Takers) -> int:
    """How many live workers take from a queue."""
    return records.takers(command.queue)
