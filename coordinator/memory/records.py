"""The records of the model store: dicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import islice
from operator import attrgetter

from ...contracts.job import ENDED
from ..parts.spans import Append, Span
from ..rows import NEVER, CheckpointRow, JobRow, PauseRow, ThreadRow
from .children import MemoryChildren
from .events import MemoryEvents
from .items import MemoryItems
from .lanes import MemoryLanes
from .streams import MemoryStreams

_values = attrgetter(*(field.name for field in fields(JobRow)))


def copied(row: JobRow) -> JobRow:
    """A job's row for somebody else. (`replace` takes six times as long, and each command copies some.)"""
    return JobRow(*_values(row))


class MemoryRecords(MemoryItems, MemoryStreams, MemoryEvents, MemoryChildren, MemoryLanes):
    """Records in dicts."""

    def __init__(self) -> None:
        super().__init__()
        MemoryStreams.__init__(self)
        MemoryEvents.__init__(self)
        MemoryChildren.__init__(self)
        MemoryLanes.__init__(self)
        self._threads: dict[str, ThreadRow] = {}
        self._turns: dict[str, list[str]] = {}
        self._order: dict[str, list[str]] = {}
        self._index: dict[str, int] = {}
        self._logs: dict[str, bytearray] = {}
        self._uses: dict[str, dict[tuple[int, int], int]] = {}
        self._first_uses: dict[str, tuple[str, str]] = {}
        self._forget_at: dict[str, int] = {}
        self._journals: dict[str, dict[str, bytes]] = {}
        self._ready: dict[str, dict[str, int]] = {}
        self._agents: dict[str, bytes] = {}
        self._presence: dict[tuple[str, str], int] = {}
        self._pauses: dict[str, PauseRow] = {}

    # jobs

    def job(self, job_id: str) -> JobRow | None:
        row = self._jobs.get(job_id)
        return copied(row) if row else None

    def put_job(self, row: JobRow) -> None:
        before = self._jobs.get(row.id)
        if before and before.ready:
            self._ready[before.queue].pop(row.id)
        if row.ready:
            self._ready.setdefault(row.queue, {})[row.id] = row.ready
        self._jobs[row.id] = copied(row)

    add_job = put_job

    def jobs(
        self, limit: int, below: tuple[int, str], state: str, agent: str, *, dead: bool, children: bool
    ) -> list[JobRow]:
        state = "failed" if dead else state
        found = self._newest_first(below, dead=dead)
        fitting = (row for row in found if state in ("", row.state) and agent in ("", row.agent))
        listed = (row for row in fitting if children or not row.parent)
        return [copied(row) for row in islice(listed, limit)]

    def newest_on(self, thread: str, limit: int, below: tuple[int, str]) -> list[JobRow]:
        fitting = (row for row in self._newest_first(below) if row.thread == thread)
        return [copied(row) for row in islice(fitting, limit)]

    def _newest_first(self, below: tuple[int, str], *, dead: bool = False) -> list[JobRow]:
        def place(row: JobRow) -> tuple[int, str]:
            return (row.updated if dead else row.created), row.id

        found = (row for row in self._jobs.values() if not below[0] or place(row) < below)
        return sorted(found, key=place, reverse=True)

    def asking(self, limit: int, after: int, after_id: str) -> list[JobRow]:
        found = [row for row in self._jobs.values() if row.state == "input_required"]
        behind = [row for row in found if (row.asked, row.id) > (after, after_id)]
        return [copied(row) for row in sorted(behind, key=lambda row: (row.asked, row.id))[:limit]]

    def ready(self, queue: str, limit: int, after: int) -> list[JobRow]:
        places = self._ready.get(queue, {})
        found = sorted((job_id for job_id in places if places[job_id] > after), key=lambda j: places[j])
        rows = (self._jobs[job_id] for job_id in found)
        return [copied(row) for row in islice((row for row in rows if not 0 < row.limit <= self.now), limit)]

    def count_waiting(self, queues: Sequence[str], lane: str, most: int) -> int:
        in_line = sum(1 for row in self._jobs.values() if row.waits and row.lane == lane)
        return min(sum(len(self._ready.get(queue, ())) for queue in queues) + in_line, most)

    def in_lane(self, lane: str) -> tuple[int, int]:
        held = [row for row in self._jobs.values() if row.slot == lane]
        return sum(1 for row in held if row.lease), sum(1 for row in held if not row.lease)

    def holders(self, lane: str, limit: int) -> list[str]:
        held = sorted((row.lease != "", row.id) for row in self._jobs.values() if row.slot == lane)
        return [job_id for _, job_id in held[:limit]]

    def first_in_line(self, lane: str, priority: int | None = None) -> JobRow | None:
        line = (r for r in self._jobs.values() if r.waits and r.lane == lane and priority in (None, r.priority))
        first = min(line, key=lambda row: (-row.priority, row.waits, row.id), default=None)
        return copied(first) if first else None

    def expired_leases(self, limit: int) -> list[JobRow]:
        due = [row for row in self._jobs.values() if 0 < row.lease_until <= self.now]
        return [copied(row) for row in sorted(due, key=lambda row: (row.lease_until, row.id))[:limit]]

    def due_timers(self, limit: int) -> list[JobRow]:
        due = [row for row in self._jobs.values() if 0 < row.due <= self.now and row.reason != "thread_busy"]
        return [copied(row) for row in sorted(due, key=lambda row: (row.due, row.id))[:limit]]

    def _unended(self) -> Iterator[JobRow]:
        return (row for row in self._jobs.values() if row.state not in ENDED)

    def overdue(self, limit: int) -> list[JobRow]:
        late = [row for row in self._unended() if 0 < row.limit <= self.now]
        return [copied(row) for row in sorted(late, key=lambda row: (row.limit, row.id))[:limit]]

    def next_due(self) -> int:
        def times(row: JobRow) -> tuple[int, int, int]:
            return row.lease_until, 0 if row.reason == "thread_busy" else row.due, row.limit

        of_jobs = (at for row in self._unended() for at in times(row) if at)
        return min((*of_jobs, *(at for at in self._gates.values() if at < NEVER)), default=0)

    def jobs_on(self, thread: str, limit: int) -> list[JobRow]:
        found = [row for row in self._jobs.values() if row.thread == thread]
        return [copied(row) for row in sorted(found, key=lambda row: (row.created, row.id))[:limit]]

    def oldest_jobs(self, start: int, limit: int) -> list[JobRow]:
        oldest_first = sorted(self._jobs.values(), key=lambda row: (row.created, row.id))
        return [copied(row) for row in oldest_first[start : start + limit]]

    def drop_job(self, job_id: str) -> None:
        del self._jobs[job_id]

    # threads and checkpoints

    def thread(self, name: str) -> ThreadRow:
        row = self._threads.get(name)
        return _copied(row) if row else ThreadRow(name)

    def put_thread(self, row: ThreadRow) -> None:
        self._threads[row.name] = _copied(row)

    def has_thread(self, name: str) -> bool:
        return name in self._threads

    def drop_thread(self, name: str) -> None:
        self._threads.pop(name)
        self._order.pop(name, None)

    def threads(self, limit: int, after: str) -> list[str]:
        return sorted(name for name in self._threads if name > after)[:limit]

    def add_turn(self, thread: str, job_id: str) -> None:
        self._turns.setdefault(thread, []).append(job_id)

    def drop_turn(self, thread: str, job_id: str) -> None:
        left = [each for each in self._turns.pop(thread, []) if each != job_id]
        if left:
            self._turns[thread] = left

    def turns(self, thread: str, limit: int) -> list[str]:
        return self._turns.get(thread, [])[:limit]

    def checkpoint(self, checkpoint_id: str) -> CheckpointRow | None:
        return self._checkpoints.get(checkpoint_id)

    def has_checkpoint(self, checkpoint_id: str) -> bool:
        return checkpoint_id in self._checkpoints

    def is_living(self, checkpoint_id: str) -> bool:
        return checkpoint_id in self._checkpoints and self._lives(checkpoint_id)

    def add_checkpoint(self, row: CheckpointRow, step_index: int, expires: int) -> None:
        self._checkpoints[row.id] = row
        if expires:
            self._expiry[row.id] = expires
        self._order.setdefault(row.thread, []).append(row.id)
        self._index[row.id] = step_index

    def drop_checkpoint(self, checkpoint_id: str) -> None:
        row = self._checkpoints.pop(checkpoint_id)
        self._expiry.pop(checkpoint_id, None)
        self._order[row.thread].remove(checkpoint_id)
        del self._index[checkpoint_id]

    def checkpoints(self, thread: str, limit: int, before: str, *, named: bool = False) -> list[CheckpointRow]:
        order = self._order.get(thread, [])
        if before:
            order = order[: order.index(before)] if before in order else []
        living = (self._checkpoints[checkpoint_id] for checkpoint_id in reversed(order) if self._lives(checkpoint_id))
        fitting = (row for row in living if row.name or not named)
        return [replace(row, state=b"", native=b"") for row in islice(fitting, limit)]

    def line(self, thread: str, start: int, limit: int) -> list[tuple[int, CheckpointRow]]:
        found = [(self._index[id_], self._checkpoints[id_]) for id_ in self._order.get(thread, ())]
        return [(index, row) for index, row in found if index >= start][:limit]

    def nth_newest(self, thread: str, n: int) -> int | None:
        order = [id_ for id_ in self._order.get(thread, ()) if self.is_living(id_)]
        return self._index[order[-n]] if n <= len(order) else None

    def put_name(self, row: CheckpointRow, name: str, expires: int) -> None:
        self._checkpoints[row.id] = replace(row, name=name)
        if expires:
            self._expiry[row.id] = expires
        else:
            self._expiry.pop(row.id, None)

    def find_name(self, thread: str, name: str) -> str:
        named = (id_ for id_ in self._order.get(thread, ()) if self._checkpoints[id_].name == name)
        return next(named, "")

    def count_names(self, thread: str) -> int:
        return sum(1 for id_ in self._order.get(thread, ()) if self._checkpoints[id_].name)

    def expired_checkpoints(self, limit: int) -> list[CheckpointRow]:
        unended = [row.job for row in self._threads.values() if row.job]
        waiting = [job_id for line in self._turns.values() for job_id in line]
        needed = {(job.thread, job.tip) for job in map(self._jobs.__getitem__, unended + waiting)}
        due = sorted((at, checkpoint_id) for checkpoint_id, at in self._expiry.items() if at <= self.now)
        expired = [self._checkpoints[checkpoint_id] for _, checkpoint_id in due]
        return [row for row in expired if (row.thread, row.id) not in needed][:limit]

    # logs

    def log_length(self, log: str) -> int:
        return len(self._logs.get(log, b""))

    def append_log(self, append: Append) -> None:
        self._logs.setdefault(append.log, bytearray()).extend(append.data)

    def read_log(self, span: Span) -> bytes:
        return bytes(self._logs.get(span.log, b"")[span.first : span.last])

    def use(self, span: Span) -> None:
        uses = self._uses.setdefault(span.log, {})
        uses[span.first, span.last] = uses.get((span.first, span.last), 0) + 1

    def disuse(self, span: Span) -> bool:
        uses = self._uses[span.log]
        uses[span.first, span.last] -= 1
        if uses[span.first, span.last]:
            return False
        del uses[span.first, span.last]
        return True

    def grown(self, span: Span) -> bool:
        return (span.first, len(self._logs[span.log])) in self._uses[span.log]

    def used(self, log: str) -> list[tuple[int, int]]:
        return sorted(self._uses.get(log, ()))

    def free_log(self, span: Span, used: Sequence[tuple[int, int]]) -> None:
        if not used:
            self._logs.pop(span.log, None)
            self._uses.pop(span.log, None)
        else:
            del self._logs[span.log][max(last for _, last in used) :]

    # keys and journals

    def first_use(self, idem: str) -> tuple[str, str] | None:
        if 0 < self._forget_at.get(idem, 0) <= self.now:
            return None
        return self._first_uses.get(idem)

    def put_first_use(self, idem: str, job_id: str, payload_digest: str) -> None:
        self._first_uses[idem] = (job_id, payload_digest)
        self._forget_at.pop(idem, None)

    def forget_first_use(self, idem: str, job_id: str, at: int) -> None:
        first = self.first_use(idem)
        if first and first[0] == job_id:
            self._forget_at[idem] = at

    def drop_first_use(self, idem: str, job_id: str) -> None:
        if self._first_uses.get(idem, ("",))[0] == job_id:
            del self._first_uses[idem]
            self._forget_at.pop(idem, None)

    def journal(self, job_id: str) -> dict[str, bytes]:
        return dict(self._journals.get(job_id, {}))

    def put_journal(self, job_id: str, records: Mapping[str, bytes]) -> None:
        journal = self._journals.setdefault(job_id, {})
        journal.update(records)
        for key in [key for key, value in records.items() if not value]:
            del journal[key]

    def drop_journal(self, job_id: str) -> None:
        self._journals.pop(job_id, None)

    # pauses, declarations, presence

    def pause(self, agent: str) -> PauseRow | None:
        return self._pauses.get(agent)

    def put_pause(self, row: PauseRow) -> None:
        self._pauses[row.agent] = row

    def pauses(self) -> list[PauseRow]:
        return sorted((row for row in self._pauses.values() if row.paused), key=lambda row: row.agent)

    def declare(self, agents: Mapping[str, bytes]) -> None:
        self._agents.update(agents)

    def declared(self) -> dict[str, bytes]:
        return dict(self._agents)

    def note_presence(self, worker: str, queues: Sequence[str], until: int) -> None:
        self._presence.update({(queue, worker): until for queue in queues})

    def takers(self, queue: str) -> int:
        return len(self.workers(queue))

    def workers(self, queue: str) -> frozenset[str]:
        return frozenset(name for (of, name), until in self._presence.items() if of == queue and until > self.now)


def _copied(row: ThreadRow) -> ThreadRow:
    """A copy of a row that is read and put with every checkpoint: `replace` takes five times as long."""
    return ThreadRow(row.name, row.tip, row.count, row.job)
