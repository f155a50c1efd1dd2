"""Putting checkpoints and writes at places."""

from __future__ import annotations

from collections.abc import Sequence

from ...contracts import event as kinds
from ...contracts.errors import BadSetup
from ..commands import Put, PutWrites
from ..parts.spans import Append, Span, read_spans
from ..records import Records
from ..refusals import refusal
from ..rows import CommitLine, JobRow, ThreadRow, Write
from ..seals import read_commit
from .checkpoints import add, check_grounded, free, let_go
from .jobs import announce, emit, held, store


def put(records: Records, command: Put) -> CommitLine:
    """Commit a checkpoint at its place. The same checkpoint again returns what the first time did."""
    new, where = command.checkpoint, command.checkpoint.place
    if where is None:
        raise BadSetup(f"checkpoint {new.id} has no place where it could be put")
    row = held(records, command.fence) if command.fence else None
    there = records.checkpoint(new.id)
    if there is not None:
        return read_commit(there.commit, there.id)
    thread = records.thread(new.thread)
    _check_owner(thread, row, new.id)
    latest = _latest(records, thread, where.scope, command.tip)
    check_grounded(records, new)
    spans = _spans(records, new.id, command.writes, new.appends)
    parent = records.place(thread.name, where.scope, command.parent) if command.parent else ""

    before = thread.tip
    commit, replaced = add(records, thread, new, parent)
    if not where.scope and (latest is None or latest <= where.key or not thread.tip):
        thread.tip = new.id
    unused = _note(records, thread.name, where.scope, command.parent, command.writes, spans) if spans else []
    free(records, replaced)
    let_go(records, unused)
    records.put_thread(thread)
    if row is None:
        announce(records, kinds.SAVED, thread.name, agent=new.agent, checkpoint=new.id, step=new.step)
        return commit
    if thread.tip != before or row.tip in {one.id for one in replaced}:
        row.tip = new.id
    emit(records, kinds.SAVED, row, checkpoint=new.id, step=new.step)
    store(records, row)
    return commit


def _latest(records: Records, thread: ThreadRow, scope: str, known: str | None) -> str | None:
    """The greatest key of a scope, if it is needed. Refuses if it is not the one that the client expects."""
    latest = records.latest_key(thread.name, scope) if known is not None or not scope else None
    if known is not None and known != (latest or ""):
        raise refusal("outrun", thread.name, known, latest or "")
    return latest


def put_writes(records: Records, command: PutWrites) -> None:
    """Store what was written at a place."""
    row = held(records, command.fence) if command.fence else None
    thread = records.thread(command.thread)
    _check_owner(thread, row, command.key)
    spans = _spans(records, command.key, command.writes)
    if not spans:
        return
    if not records.has_thread(thread.name):
        records.put_thread(thread)
    let_go(records, _note(records, thread.name, command.scope, command.key, command.writes, spans))


def _check_owner(thread: ThreadRow, row: JobRow | None, what: str) -> None:
    """Refuse what is not for the fence's thread, or comes without a fence while a job runs on the thread."""
    if row is None and thread.job:
        raise refusal("busy", thread.name, thread.job)
    if row is not None and row.thread != thread.name:
        raise refusal("thread", what)


def _spans(
    records: Records, what: str, writes: Sequence[Write], appends: Sequence[Append] = ()
) -> list[Sequence[Span]]:
    """The spans of each write. Refused unless logs hold them, or will after these appends."""
    ends = {append.log: append.at + len(append.data) for append in appends}
    spans: list[Sequence[Span]] = []
    for write in writes:
        found = read_spans(write.spans)
        for span in found:
            if span.log not in ends:
                ends[span.log] = records.log_length(span.log)
            if span.last > ends[span.log]:
                raise refusal("ungrounded", what)
        spans.append(found)
    return spans


def _note(
    records: Records, thread: str, scope: str, key: str, writes: Sequence[Write], spans: Sequence[Sequence[Span]]
) -> list[Span]:
    """Store writes, which use these spans. Returns the spans of those that they replaced."""
    unused: list[Span] = []
    for used, before in zip(spans, records.put_writes(thread, scope, key, writes), strict=True):
        if before is not None:
            for span in used:
                records.use(span)
            unused += read_spans(before)
    return unused
