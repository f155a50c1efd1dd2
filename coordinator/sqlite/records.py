"""The records of the SQLite store: rows, within the transaction that the store has opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from operator import itemgetter
from typing import Any

from ...contracts.job import JobState
from ..rows import NEVER, CheckpointRow, DamagedRow, JobRow, PauseRow, ThreadRow
from .children import SqliteChildren
from .commit_lines import packed
from .events import SqliteEvents
from .items import SqliteItems
from .lanes import SqliteLanes
from .places import checkpoint_row
from .streams import SqliteStreams

_JOB = [field.name for field in fields(JobRow)]
_INTS = [field.name for field in fields(JobRow) if field.type == "int"]
_NUMBERS: Callable[[Sequence[Any]], tuple[Any, ...]] = itemgetter(*map(_JOB.index, _INTS))
# The same words as in the index job_limit, or SQLite would not use it.
_LIMIT = "CASE WHEN expires > 0 AND (deadline = 0 OR expires < deadline) THEN expires ELSE deadline END"
_LIMITED = "(expires > 0 OR deadline > 0) AND state IN ('submitted', 'working', 'input_required')"
_SELECT_JOB = f"SELECT {', '.join(_JOB)} FROM job "
_INSERT_JOB = f"INSERT INTO job ({', '.join(_JOB)}, namespace) VALUES ({', '.join('?' * (len(_JOB) + 1))})"
# The fields of a job that never change.
_FIXED = ("id", "thread", "key", "idem", "key_ttl", "created", "parent", "number")
_CHANGING = [name for name in _JOB if name not in _FIXED]
_UPDATE_JOB = f"UPDATE job SET {', '.join(f'{name} = ?' for name in _CHANGING)} WHERE id = ?"
_SELECT_PAUSE = "SELECT agent, at, paused, reason FROM pause"
# By the index (i) and the row (r) to which it leads. If they differ, one is damaged, and what is there may be another
# job's: nothing stands in for it, which no reader accepts.
_JOURNAL = (
    "SELECT i.key, CASE WHEN r.job = i.job AND r.key = i.key THEN r.value ELSE x'' END "
    "FROM journal AS i LEFT JOIN journal AS r ON r.place = i.place WHERE i.job = ? ORDER BY i.place"
)
# The line as bytes, because a damaged text could not be read at all, and its reader has to say what is damaged.
_SELECT_CHECKPOINT = "SELECT id, thread, header, CAST(commit_line AS BLOB), name"
_NEWEST_FIRST = "WHERE namespace = ? AND thread = ? AND step_index < ? AND NOT (expires > 0 AND expires <= ?)"


def job_row(values: Sequence[Any]) -> JobRow:
    """A job as its table has it."""
    try:
        sum(_NUMBERS(values))
        return JobRow(*values)
    except TypeError:
        named = dict(zip(_JOB, values, strict=True))
    wrong = [name for name in _INTS if not isinstance(named[name], int)]
    return DamagedRow(**{name: value for name, value in named.items() if name not in wrong}, damaged=tuple(wrong))


class SqliteRecords(SqliteItems, SqliteStreams, SqliteEvents, SqliteChildren, SqliteLanes):
    """Records of one namespace in one transaction."""

    # jobs

    def _jobs_where(self, where: str, *values: Any) -> list[JobRow]:
        rows = self._db.execute(f"{_SELECT_JOB} WHERE namespace = ? AND {where}", (self._namespace, *values))
        return [job_row(row) for row in rows]

    def job(self, job_id: str) -> JobRow | None:
        rows = self._jobs_where("id = ?", job_id)
        return rows[0] if rows else None

    def add_job(self, row: JobRow) -> None:
        self._db.execute(_INSERT_JOB, [*(getattr(row, name) for name in _JOB), self._namespace])

    def put_job(self, row: JobRow) -> None:
        self._db.execute(_UPDATE_JOB, [*(getattr(row, name) for name in _CHANGING), row.id])

    def jobs(
        self, limit: int, below: tuple[int, str], state: str, agent: str, *, dead: bool, children: bool
    ) -> list[JobRow]:
        which, at = ("state = 'failed'", "updated") if dead else ("1", "created")
        which = which if children else f"{which} AND parent = ''"
        if state and state != JobState.COMPLETED:
            # For the index of those: SQLite wants its condition word by word.
            which = f"{which} AND state <> 'completed'"
        asked = {f"({at}, id) < (?, ?)": below if below[0] else (), "state = ?": [state], "agent = ?": [agent]}
        asked = {condition: values for condition, values in asked.items() if any(values)}
        values = [value for each in asked.values() for value in each]
        page = f"ORDER BY {at} DESC, id DESC LIMIT ?"
        return self._jobs_where(f"{' AND '.join([which, *asked])} {page}", *values, limit)

    def newest_on(self, thread: str, limit: int, below: tuple[int, str]) -> list[JobRow]:
        older = "(created, id) < (?, ?) AND " if below[0] else ""
        page = f"{older}thread = ? ORDER BY +created DESC, id DESC LIMIT ?"
        return self._jobs_where(page, *(below if below[0] else ()), thread, limit)

    def asking(self, limit: int, after: int, after_id: str) -> list[JobRow]:
        behind = "state = 'input_required' AND (asked, id) > (?, ?) ORDER BY asked, id LIMIT ?"
        return self._jobs_where(behind, after, after_id, limit)

    def ready(self, queue: str, limit: int, after: int) -> list[JobRow]:
        in_time = f"NOT ((expires > 0 OR deadline > 0) AND {_LIMIT} <= ?)"
        first = f"queue = ? AND ready > 0 AND ready > ? AND {in_time} ORDER BY ready LIMIT ?"
        return self._jobs_where(first, queue, after, self.now, limit)

    def count_waiting(self, queues: Sequence[str], lane: str, most: int) -> int:
        ready = f"namespace = ? AND queue IN ({', '.join('?' * len(queues))}) AND ready > 0"
        line = "namespace = ? AND lane = ? AND waits > 0"
        both = f"SELECT 1 FROM job WHERE {ready} UNION ALL SELECT 1 FROM job WHERE {line} LIMIT ?"
        values = (self._namespace, *queues, self._namespace, lane, most)
        return int(self._db.execute(f"SELECT count(*) FROM ({both})", values).fetchone()[0])

    def in_lane(self, lane: str) -> tuple[int, int]:
        which = "FROM job WHERE namespace = ? AND slot = ? AND slot <> ''"
        row = self._db.execute(
            f"SELECT count(*) FILTER (WHERE lease <> ''), count(*) FILTER (WHERE lease = '') {which}",
            (self._namespace, lane),
        ).fetchone()
        return row[0], row[1]

    def first_in_line(self, lane: str, priority: int | None = None) -> JobRow | None:
        which = "lane = ? AND waits > 0 AND coalesce(?, priority) = priority"
        rows = self._jobs_where(f"{which} ORDER BY priority DESC, waits, id LIMIT 1", lane, priority)
        return rows[0] if rows else None

    def expired_leases(self, limit: int) -> list[JobRow]:
        due = "lease_until > 0 AND lease_until <= ? ORDER BY lease_until, id LIMIT ?"
        return self._jobs_where(due, self.now, limit)

    def due_timers(self, limit: int) -> list[JobRow]:
        due = "due > 0 AND due <= ? AND reason <> 'thread_busy' ORDER BY due, id LIMIT ?"
        return self._jobs_where(due, self.now, limit)

    def overdue(self, limit: int) -> list[JobRow]:
        return self._jobs_where(f"{_LIMITED} AND {_LIMIT} <= ? ORDER BY {_LIMIT}, id LIMIT ?", self.now, limit)

    def next_due(self) -> int:
        row = self._db.execute(
            "SELECT min(at) FROM ("
            "SELECT min(lease_until) AS at FROM job WHERE namespace = :namespace AND lease_until > 0 "
            "UNION ALL SELECT min(due) FROM job WHERE namespace = :namespace AND due > 0 AND reason <> 'thread_busy' "
            f"UNION ALL SELECT min(at) FROM gate WHERE namespace = :namespace AND at < {NEVER} "
            f"UNION ALL SELECT min({_LIMIT}) FROM job WHERE namespace = :namespace AND {_LIMITED})",
            {"namespace": self._namespace},
        ).fetchone()
        return row[0] if isinstance(row[0], int) else 0  # a damaged time, which SQLite has behind all numbers

    def jobs_on(self, thread: str, limit: int) -> list[JobRow]:
        return self._jobs_where("thread = ? ORDER BY +created, id LIMIT ?", thread, limit)

    def oldest_jobs(self, start: int, limit: int) -> list[JobRow]:
        # The inner one passes over jobs in the index alone. The table would be read for each of them.
        page = "SELECT id FROM job WHERE namespace = ? ORDER BY created, id LIMIT ? OFFSET ?"
        ordered = f"{_SELECT_JOB} WHERE id IN ({page}) ORDER BY created, id"
        return [job_row(row) for row in self._db.execute(ordered, (self._namespace, limit, start))]

    def unfinished(self, fan: str, limit: int) -> list[JobRow]:
        unended = "state IN ('submitted', 'working', 'input_required')"
        return self._jobs_where(f"brood = ? AND brood <> '' AND {unended} ORDER BY number, id LIMIT ?", fan, limit)

    def drop_job(self, job_id: str) -> None:
        self._db.execute("DELETE FROM job WHERE id = ?", (job_id,))

    # threads and checkpoints

    def thread(self, name: str) -> ThreadRow:
        row = self._db.execute(
            "SELECT name, tip, count, job FROM thread WHERE namespace = ? AND name = ?", (self._namespace, name)
        ).fetchone()
        return ThreadRow(*row) if row else ThreadRow(name)

    def put_thread(self, row: ThreadRow) -> None:
        self._db.execute(
            "INSERT INTO thread (namespace, name, tip, count, job) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET tip = excluded.tip, count = excluded.count, job = excluded.job",
            (self._namespace, row.name, row.tip, row.count, row.job),
        )

    def has_thread(self, name: str) -> bool:
        where = (self._namespace, name)
        return self._db.execute("SELECT 1 FROM thread WHERE namespace = ? AND name = ?", where).fetchone() is not None

    def drop_thread(self, name: str) -> None:
        self._db.execute("DELETE FROM thread WHERE namespace = ? AND name = ?", (self._namespace, name))

    def add_turn(self, thread: str, job_id: str) -> None:
        where = (self._namespace, thread)
        self._db.execute(
            "INSERT INTO turn (namespace, thread, number, job) "
            "SELECT ?, ?, coalesce(max(number), 0) + 1, ? FROM turn WHERE namespace = ? AND thread = ?",
            (*where, job_id, *where),
        )

    def drop_turn(self, thread: str, job_id: str) -> None:
        self._db.execute("DELETE FROM turn WHERE job = ?", (job_id,))

    def turns(self, thread: str, limit: int) -> list[str]:
        line = "SELECT job FROM turn WHERE namespace = ? AND thread = ? ORDER BY number LIMIT ?"
        return [row[0] for row in self._db.execute(line, (self._namespace, thread, limit))]

    def threads(self, limit: int, after: str) -> list[str]:
        query = "SELECT name FROM thread WHERE namespace = ? AND name > ? ORDER BY name LIMIT ?"
        return [row[0] for row in self._db.execute(query, (self._namespace, after, limit))]

    def checkpoint(self, checkpoint_id: str) -> CheckpointRow | None:
        row = self._db.execute(
            f"{_SELECT_CHECKPOINT}, state, native FROM checkpoint WHERE id = ? AND namespace = ?",
            (checkpoint_id, self._namespace),
        ).fetchone()
        return checkpoint_row(*row) if row else None

    def has_checkpoint(self, checkpoint_id: str) -> bool:
        where = (checkpoint_id, self._namespace)
        return self._db.execute("SELECT 1 FROM checkpoint WHERE id = ? AND namespace = ?", where).fetchone() is not None

    def is_living(self, checkpoint_id: str) -> bool:
        which = "id = ? AND namespace = ? AND NOT (expires > 0 AND expires <= ?)"
        found = self._db.execute(f"SELECT 1 FROM checkpoint WHERE {which}", (checkpoint_id, self._namespace, self.now))
        return found.fetchone() is not None

    def add_checkpoint(self, row: CheckpointRow, step_index: int, expires: int) -> None:
        self._db.execute(
            "INSERT INTO checkpoint (id, namespace, thread, step_index, expires, header, commit_line, state, native) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                row.id,
                self._namespace,
                row.thread,
                step_index,
                expires,
                row.header,
                packed(row.commit),
                row.state,
                row.native,
            ),
        )

    def drop_checkpoint(self, checkpoint_id: str) -> None:
        self._db.execute("DELETE FROM checkpoint WHERE id = ?", (checkpoint_id,))

    def checkpoints(self, thread: str, limit: int, before: str, *, named: bool = False) -> list[CheckpointRow]:
        edge = 2**62
        if before:
            row = self._db.execute(
                "SELECT step_index FROM checkpoint WHERE id = ? AND namespace = ? AND thread = ?",
                (before, self._namespace, thread),
            ).fetchone()
            edge = row[0] if row else 0
        which = "AND name <> ''" if named else ""
        rows = self._db.execute(
            f"{_SELECT_CHECKPOINT} FROM checkpoint {_NEWEST_FIRST} {which} ORDER BY step_index DESC LIMIT ?",
            (self._namespace, thread, edge, self.now, limit),
        )
        return [checkpoint_row(*row) for row in rows]

    def line(self, thread: str, start: int, limit: int) -> list[tuple[int, CheckpointRow]]:
        rows = self._db.execute(
            f"{_SELECT_CHECKPOINT}, state, native, step_index FROM checkpoint "
            "WHERE namespace = ? AND thread = ? AND step_index >= ? ORDER BY step_index LIMIT ?",
            (self._namespace, thread, start, limit),
        )
        return [(index, checkpoint_row(*row)) for *row, index in rows]

    def nth_newest(self, thread: str, n: int) -> int | None:
        row = self._db.execute(
            f"SELECT step_index FROM checkpoint {_NEWEST_FIRST} ORDER BY step_index DESC LIMIT 1 OFFSET ?",
            (self._namespace, thread, 2**62, self.now, n - 1),
        ).fetchone()
        return row[0] if row else None

    def put_name(self, row: CheckpointRow, name: str, expires: int) -> None:
        self._db.execute("UPDATE checkpoint SET name = ?, expires = ? WHERE id = ?", (name, expires, row.id))

    def find_name(self, thread: str, name: str) -> str:
        row = self._db.execute(
            "SELECT id FROM checkpoint WHERE namespace = ? AND thread = ? AND name = ? AND name <> ''",
            (self._namespace, thread, name),
        ).fetchone()
        return row[0] if row else ""

    def count_names(self, thread: str) -> int:
        row = self._db.execute(
            "SELECT count(*) FROM checkpoint WHERE namespace = ? AND thread = ? AND name <> ''",
            (self._namespace, thread),
        ).fetchone()
        return int(row[0])

    def expired_checkpoints(self, limit: int) -> list[CheckpointRow]:
        rows = self._db.execute(
            f"{_SELECT_CHECKPOINT} FROM checkpoint AS c WHERE namespace = ? AND expires > 0 AND "
            "expires <= ? AND NOT EXISTS (SELECT 1 FROM thread AS t JOIN job AS j ON j.id = t.job "
            "WHERE t.namespace = c.namespace AND t.name = c.thread AND j.tip = c.id) "
            "AND NOT EXISTS (SELECT 1 FROM turn AS w JOIN job AS j ON j.id = w.job "
            "WHERE w.namespace = c.namespace AND w.thread = c.thread AND j.tip = c.id) ORDER BY expires, id LIMIT ?",
            (self._namespace, self.now, limit),
        )
        return [checkpoint_row(*row) for row in rows]

    # keys and journals

    def first_use(self, idem: str) -> tuple[str, str] | None:
        row: tuple[str, str] | None = self._db.execute(
            "SELECT job, payload_digest FROM first_use WHERE namespace = ? AND idem = ? "
            "AND NOT (forget_at > 0 AND forget_at <= ?)",
            (self._namespace, idem, self.now),
        ).fetchone()
        return row

    def put_first_use(self, idem: str, job_id: str, payload_digest: str) -> None:
        row = (self._namespace, idem, job_id, payload_digest)
        self._db.execute("INSERT OR REPLACE INTO first_use VALUES (?, ?, ?, ?, 0)", row)

    def forget_first_use(self, idem: str, job_id: str, at: int) -> None:
        self._db.execute(
            "UPDATE first_use SET forget_at = ? WHERE namespace = ? AND idem = ? AND job = ? "
            "AND NOT (forget_at > 0 AND forget_at <= ?)",
            (at, self._namespace, idem, job_id, self.now),
        )

    def drop_first_use(self, idem: str, job_id: str) -> None:
        where = (self._namespace, idem, job_id)
        self._db.execute("DELETE FROM first_use WHERE namespace = ? AND idem = ? AND job = ?", where)

    def journal(self, job_id: str) -> dict[str, bytes]:
        return dict(self._db.execute(_JOURNAL, (job_id,)))

    def put_journal(self, job_id: str, records: Mapping[str, bytes]) -> None:
        self._db.executemany(
            "INSERT INTO journal (job, key, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            [(job_id, key, value) for key, value in records.items() if value],
        )
        if gone := [(job_id, key) for key, value in records.items() if not value]:
            self._db.executemany("DELETE FROM journal WHERE job = ? AND key = ?", gone)

    def drop_journal(self, job_id: str) -> None:
        self._db.execute("DELETE FROM journal WHERE job = ?", (job_id,))

    # pauses, declarations, presence

    def pause(self, agent: str) -> PauseRow | None:
        which = (self._namespace, agent)
        row = self._db.execute(f"{_SELECT_PAUSE} WHERE namespace = ? AND agent = ?", which).fetchone()
        return PauseRow(row[0], row[1], bool(row[2]), row[3]) if row else None

    def put_pause(self, row: PauseRow) -> None:
        values = (self._namespace, row.agent, row.at, int(row.paused), row.reason)
        self._db.execute("INSERT OR REPLACE INTO pause VALUES (?, ?, ?, ?, ?)", values)

    def pauses(self) -> list[PauseRow]:
        rows = self._db.execute(f"{_SELECT_PAUSE} WHERE namespace = ? AND paused ORDER BY agent", (self._namespace,))
        return [PauseRow(agent, at, True, reason) for agent, at, _, reason in rows]

    def declare(self, agents: Mapping[str, bytes]) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO agent VALUES (?, ?, ?)",
            [(self._namespace, name, declaration) for name, declaration in agents.items()],
        )

    def declared(self) -> dict[str, bytes]:
        return dict(self._db.execute("SELECT name, declaration FROM agent WHERE namespace = ?", (self._namespace,)))

    def note_presence(self, worker: str, queues: Sequence[str], until: int) -> None:
        self._db.execute("DELETE FROM presence WHERE namespace = ? AND until <= ?", (self._namespace, self.now))
        self._db.executemany(
            "INSERT OR REPLACE INTO presence VALUES (?, ?, ?, ?)",
            [(self._namespace, queue, worker, until) for queue in queues],
        )

    def takers(self, queue: str) -> int:
        row = self._db.execute(
            "SELECT count(*) FROM presence WHERE namespace = ? AND queue = ? AND until > ?",
            (self._namespace, queue, self.now),
        ).fetchone()
        return int(row[0])
