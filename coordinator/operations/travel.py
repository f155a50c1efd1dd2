"""Going through a thread's history: its chain, its names, its copies."""

from __future__ import annotations

from dataclasses import replace

from ...contracts import event as kinds
from ...contracts.errors import Corrupted
from ..commands import Ancestors, Export, FindName, Import, Name, Threads
from ..commands.threads import LOOKED_AT
from ..records import Records
from ..refusals import refusal
from ..rows import CheckpointRow, CommitLine
from ..seals import is_sealed, read_commit
from .checkpoints import append, check_grounded
from .jobs import announce

# How many names a thread may have.
NAMES = 500


def hidden(records: Records, row: CheckpointRow) -> bool:
    """Whether a checkpoint has expired, freed or not. A named one never does. Nor one whose commit line was damaged so
    that it says it: whoever reads that notices."""
    return has_expired(records, row, read_commit(row.commit, row.id))


def has_expired(records: Records, row: CheckpointRow, commit: CommitLine) -> bool:
    """The same, where its commit line is known."""
    if row.name or not 0 < commit.expires <= records.now:
        return False
    return is_sealed(row.id, row.header, commit)


def ancestors(records: Records, command: Ancestors) -> list[CheckpointRow]:
    """A checkpoint and its ancestors, also across threads, as long as they exist and can be read."""
    found: list[CheckpointRow] = []
    at = command.checkpoint_id
    while at and len(found) < command.limit:
        row = records.checkpoint(at)
        if row is None:
            break
        try:
            if hidden(records, row):
                break
            at = read_commit(row.commit, row.id).parent
        except Corrupted:
            at = ""
        found.append(replace(row, state=b"", native=b""))
    return found


def name(records: Records, command: Name) -> None:
    """Give a checkpoint a name that is unique in its thread, or remove its name."""
    row = records.checkpoint(command.checkpoint_id)
    if row is None or hidden(records, row):
        raise refusal("no_checkpoint", command.checkpoint_id)
    if command.name == row.name:
        return
    if command.name:
        other = records.find_name(row.thread, command.name)
        if other:
            raise refusal("named", row.thread, command.name, other)
        if not row.name and records.count_names(row.thread) >= NAMES:
            raise refusal("names", row.thread, str(NAMES))
    expires = 0 if command.name else read_commit(row.commit, row.id).expires
    records.put_name(row, command.name, expires)
    thread = records.thread(row.thread)
    announce(records, kinds.NAMED, thread.job or row.thread, checkpoint=row.id, name=command.name)


def find_name(records: Records, command: FindName) -> str:
    """The checkpoint with a name."""
    found = records.find_name(command.thread, command.name)
    if not found or not command.name:
        raise refusal("no_name", command.thread, command.name)
    return found


def threads(records: Records, command: Threads) -> list[str]:
    """A page of the threads' names."""
    return records.threads(command.limit, command.after)


def export(records: Records, command: Export) -> list[CheckpointRow]:
    """A thread's checkpoints, in a form in which they can be added to another thread."""
    rows = [row for _, row in records.line(command.thread, command.start, LOOKED_AT)]
    return [row for row in rows if not hidden(records, row)][: command.limit]


def import_(records: Records, command: Import) -> list[CommitLine]:
    """Add checkpoints to a thread."""
    there = [row for new in command.checkpoints if (row := records.checkpoint(new.id))]
    if there:
        return [read_commit(row.commit, row.id) for row in there]
    thread = records.thread(command.thread)
    if thread.job:
        raise refusal("busy", thread.name, thread.job)
    if thread.count != command.count:
        raise refusal("exists", thread.name)
    logs: set[str] = set()
    for new in command.checkpoints:
        if new.thread != thread.name:
            raise refusal("thread", new.id)
        check_grounded(records, new)
        for each in new.appends:
            if each.log in logs:  # if two appended to one log, the second would not lie where it expects to
                raise refusal("ungrounded", new.base)
            logs.add(each.log)
    lines: list[CommitLine] = []
    for number, (new, parent) in enumerate(zip(command.checkpoints, command.parents, strict=True)):
        if command.stamps:
            stamp = command.stamps[number]
            thread.count = stamp.step_index
            lines.append(append(records, thread, new, parent, stamp.created))
            if stamp.name and (row := records.checkpoint(new.id)):
                records.put_name(row, stamp.name, 0)
            continue
        lines.append(append(records, thread, new, parent))
        announce(records, kinds.SAVED, thread.name, agent=new.agent, checkpoint=new.id, step=new.step)
    records.put_thread(thread)
    return lines
