"""The fan-outs of the SQLite store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from sqlite3 import Connection

from ..commands import Child, Target
from ..rows import OutcomeRow


class SqliteChildren:
    """Staged children, how children ended, and chores, of one namespace, in one transaction."""

    _db: Connection
    _namespace: str
    now: int

    def stage(self, job_id: str, children: Sequence[Child]) -> None:
        self._db.executemany(
            "INSERT INTO staged (job, child, number, agent, contract, queue, envelope, lane) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (job_id, child.job_id, child.number, to.agent, to.contract, to.queue, to.envelope, to.lane)
                for child in children
                for to in (child.target,)
            ],
        )

    def staged(self, job_id: str, limit: int) -> list[Child]:
        rows = self._db.execute(
            "SELECT child, number, lane, agent, contract, queue, envelope FROM staged "
            "WHERE job = ? ORDER BY place LIMIT ?",
            (job_id, limit),
        )
        return [Child(child, number, replace(Target(*target), lane=lane)) for child, number, lane, *target in rows]

    def count_staged(self, job_id: str) -> int:
        return int(self._db.execute("SELECT count(*) FROM staged WHERE job = ?", (job_id,)).fetchone()[0])

    def unstage(self, job_id: str, first: int | None = None) -> None:
        self._db.execute(
            "DELETE FROM staged WHERE place IN (SELECT place FROM staged WHERE job = ? ORDER BY place LIMIT ?)",
            (job_id, -1 if first is None else first),
        )

    def put_outcome(self, job_id: str, fan: str, row: OutcomeRow) -> None:
        about = (row.job_id, row.state, row.reason, row.error, row.result, row.fan)
        self._db.execute(
            "INSERT OR REPLACE INTO outcome VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (job_id, fan, row.number, *about)
        )

    def outcomes(self, job_id: str, fan: str, start: int, limit: int) -> list[OutcomeRow]:
        rows = self._db.execute(
            "SELECT child, number, state, reason, error, result, below FROM outcome "
            "WHERE job = ? AND fan = ? AND number >= ? AND number < ? ORDER BY number",
            (job_id, fan, start, start + limit),
        )
        return [OutcomeRow(*row) for row in rows]

    def all_outcomes(self, job_id: str) -> list[tuple[str, OutcomeRow]]:
        rows = self._db.execute(
            "SELECT fan, child, number, state, reason, error, result, below FROM outcome "
            "WHERE job = ? ORDER BY fan, number",
            (job_id,),
        )
        return [(fan, OutcomeRow(*row)) for fan, *row in rows]

    def drop_outcomes(self, job_id: str) -> None:
        self._db.execute("DELETE FROM outcome WHERE job = ?", (job_id,))

    def put_chore(self, kind: str, about: str) -> None:
        self._db.execute("INSERT OR IGNORE INTO chore VALUES (?, ?, ?, ?)", (self._namespace, kind, about, self.now))

    def chores(self, kind: str, limit: int) -> list[str]:
        rows = self._db.execute(
            "SELECT about FROM chore WHERE namespace = ? AND kind = ? ORDER BY at, about LIMIT ?",
            (self._namespace, kind, limit),
        )
        return [about for (about,) in rows]

    def drop_chore(self, kind: str, about: str) -> None:
        self._db.execute(
            "DELETE FROM chore WHERE namespace = ? AND kind = ? AND about = ?", (self._namespace, kind, about)
        )
