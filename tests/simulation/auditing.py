"""Auditing: what a store keeps, compared with what is known."""

from __future__ import annotations

from operator import attrgetter

from batonpass.contracts import event as kinds
from batonpass.coordinator.memory.records import MemoryRecords
from batonpass.coordinator.operations.checkpoints import whole
from batonpass.coordinator.parts.spans import read_spans
from batonpass.coordinator.records import Records
from batonpass.coordinator.snapshots import open_checkpoint
from tests.simulation.known import ENDED, Job, Known, Violation

_SEEN = attrgetter(
    *("state", "reason", "queue", "hop", "attempt", "crashes", "token", "lease", "lease_until", "due", "tip", "closed"),
    *("began", "answer", "answered", "asked", "escalated", "result"),
    *("parent", "brood", "number", "fan", "verdict", "children", "need", "spare", "done", "lost"),
)
_ENDS = {kinds.COMPLETED, kinds.FAILED, kinds.REJECTED, kinds.CANCELED}


def compare_job(job: Job, records: Records) -> None:
    """The store's job must be the one that is known."""
    row = records.job(job.id)
    if row is None:
        raise Violation(f"job {job.id} is gone")
    if _SEEN(row) != _SEEN(job) or bool(row.ready) != (job.place == "ready"):
        raise Violation(f"job {job.id} is {_SEEN(row)} ready={row.ready}, must be {_SEEN(job)} {job.place}")


def compare_all(known: Known, records: MemoryRecords, now: int) -> None:
    """Everything that is kept must be what is known."""
    for job in known.jobs.values():
        compare_job(job, records)
    _same(
        "jobs",
        sorted(row.id for row in records.jobs(10_000, (0, ""), "", "", dead=False, children=True)),
        sorted(known.jobs),
    )
    for thread in known.threads.values():
        row = records.thread(thread.name)
        _same(f"thread {thread.name}", (row.tip, row.count, row.job), (thread.tip, thread.count, thread.job))
        shown = [row.id for row in records.checkpoints(thread.name, 10_000, "")]
        _same(f"timeline {thread.name}", shown, known.shown(thread, now))
    for checkpoint_id, (thread_name, _, new) in known.kept.items():
        found = records.checkpoint(checkpoint_id)
        if found is None or (found.thread, found.state) != (thread_name, new.state):
            raise Violation(f"checkpoint {checkpoint_id} is gone or another")
    _compare_states(known, records)
    for idem, (job_id, payload_digest) in known.keys.items():
        expected = (job_id, payload_digest) if known.first(idem, now) else None
        _same(f"key {idem}", records.first_use(idem), expected)


def _compare_states(known: Known, records: MemoryRecords) -> None:
    """What checkpoints share can be read, and what nobody uses any more is gone."""
    lengths: dict[str, int] = {}
    for checkpoint_id, (_, _, new) in known.kept.items():
        row = records.checkpoint(checkpoint_id)
        if not new.spans or row is None:
            continue
        _same(
            f"checkpoint {checkpoint_id}",
            open_checkpoint(whole(records, row)).state,
            known.growing.state(checkpoint_id),
        )
        for span in read_spans(new.spans):
            lengths[span.log] = max(span.last, lengths.get(span.log, 0))
    _same("logs", {log: len(data) for log, data in records._logs.items()}, lengths)


def compare_events(known: Known, records: MemoryRecords) -> None:
    """A job's events are in order: its tokens grow, and after its end nothing comes but a redrive, if it failed."""
    tokens: dict[str, int] = {}
    over: dict[str, str] = {}
    for row in records.events("", 1_000_000):
        kind, job = row.fields["type"], row.fields["subject"]
        if job not in known.jobs or kind == kinds.EXPIRED:
            continue
        if kind == kinds.REDRIVEN and over.get(job) == kinds.FAILED:
            del over[job]
        if job in over:
            raise Violation(f"job {job} has ended, and then: {row.fields}")
        if kind == kinds.STARTED:
            token = int(row.fields["token"])
            if token <= tokens.get(job, 0):
                raise Violation(f"job {job} was started with token {token} after {tokens[job]}")
            tokens[job] = token
        if kind in _ENDS:
            over[job] = kind
    _same(
        "jobs with an end among their events", {*over}, {id_ for id_, job in known.jobs.items() if job.state in ENDED}
    )


def _same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise Violation(f"{what}: {found}, must be {expected}")
