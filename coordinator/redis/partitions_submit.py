"""Submits with an idempotency key, over several partitions.

A key's home is the partition of its digest, where a submit with nothing but the key puts its job. A job that must live
elsewhere, with its thread or with the checkpoint that it goes on from, leaves a note at the key's home first, so that
the key is unique in the whole namespace. What a note says counts while the job's own partition says so too.
"""

from __future__ import annotations

from dataclasses import replace

from ...contracts.errors import KeyConflict, NotFound, Overloaded
from ...contracts.names import home, partition_of
from .. import commands as c
from ..refusals import refusal
from ..rows import JobRow
from .partitions_plan import Note, Plan, Used, good, told


def submit(command: c.Submit, count: int) -> Plan[JobRow]:
    """Make a job, or return the one that used the key first, in whatever partition it is."""
    at = partition_of(command.job_id) % count
    noted = home(command.idem) % count if command.idem else at
    if noted == at:
        return (yield from _at_home(command, at, count))
    note, void = Note(command.idem, command.job_id, command.payload_digest, command.key_ttl), ""
    while True:
        [first] = good((yield [(noted, replace(note, void=void))]))
        if first.job_id == command.job_id:
            break
        found, there = yield from _noted(command, first, count)
        if found:
            return found
        if not there and partition_of(first.job_id) % count == at:
            # The note is from a submit like this one, which may have died: with the same id, the job is made once.
            own = command.thread == command.job_id
            command = replace(command, job_id=first.job_id, thread=first.job_id if own else command.thread)
            break
        _check_pending(command, first, there)
        void = first.job_id
    [row] = good((yield [(at, command)]))
    return _checked((yield from told(at, row)))


def first_use(command: c.FirstUse, count: int) -> Plan[JobRow | None]:
    """The job that used a key first, where the key is looked up, or where a note there says that it lives."""
    at = home(command.idem) % count
    [row] = good((yield [(at, command)]))
    if not isinstance(row, JobRow):
        return None
    if row.state:
        return row
    noted, where = row.id, partition_of(row.id) % count
    if where == at:
        return None
    [row] = good((yield [(where, command)]))
    return row if isinstance(row, JobRow) and row.state and row.id == noted else None


def _at_home(command: c.Submit, at: int, count: int) -> Plan[JobRow]:
    while True:
        [answer] = yield [(at, command)]
        outcome = yield from told(at, answer)
        stranger = isinstance(outcome, JobRow) and not outcome.state  # the script found a note, but not its job
        if not command.idem or not (stranger or isinstance(outcome, KeyConflict)):
            break
        [first] = good((yield [(at, Note(command.idem))]))
        if first.job_id and partition_of(first.job_id) % count == at:
            break
        if first.job_id:
            found, there = yield from _noted(command, first, count)
            if found:
                return found
            _check_pending(command, first, there)
            yield [(at, Note(command.idem, void=first.job_id))]
    [row] = good([outcome])
    return _checked(row)


def _noted(command: c.Submit, first: Used, count: int) -> Plan[tuple[JobRow | None, bool]]:
    """The job that a note names, if its partition says too that it used the key; and whether it exists at all."""
    where = partition_of(first.job_id) % count
    used, job = yield [(where, Note(command.idem)), (where, c.ReadJob(first.job_id))]
    there = not isinstance(job, NotFound)
    if good([used])[0].job_id != first.job_id:
        return None, there
    if used.payload_digest != command.payload_digest:
        raise refusal("key", command.key, first.job_id)
    return _checked(good([job])[0]), there


def _check_pending(command: c.Submit, first: Used, there: bool) -> None:
    """A note is void if its job exists (then the key has expired), or did not appear in time."""
    if first.fresh and not there:
        raise Overloaded(f"another submit with the key {command.key!r} is in progress: try again in a moment")


def _checked(row: object) -> JobRow:
    assert isinstance(row, JobRow)
    return row
