"""Lists of jobs over several partitions, page by page."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...contracts.names import partition_of
from .. import commands as c
from ..rows import JobRow
from .partitions_plan import Above, Plan, good

# Each partition is asked for this many more than its even share, because jobs are spread by chance.
_MORE = 8


@dataclass
class _Line:
    """A partition's jobs, newest first, as far as they have been read."""

    below: str = ""
    rows: list[JobRow] = field(default_factory=list[JobRow])
    ended: bool = False


def list_jobs(command: c.ListJobs, count: int) -> Plan[list[JobRow]]:
    """A page. Reads more from a partition whenever its jobs are used up."""

    def place(row: JobRow) -> tuple[float, str]:
        return row.updated if command.dead else row.created, row.id

    last = (float("inf"), "")
    lines = [_Line() for _ in range(count)]
    if command.before:
        [row] = good((yield [(partition_of(command.before) % count, c.ReadJob(command.before))]))
        last = place(row)
        above = Above(int(last[0]), command.dead)
        lines = [_Line(found) for found in good((yield [(at, above) for at in range(count)]))]
    chosen = bool(command.state or command.agent)
    size = command.limit // count + _MORE
    page: list[JobRow] = []
    while len(page) < command.limit:
        needed = [at for at, line in enumerate(lines) if not line.rows and not line.ended]
        if needed:
            pages = [(at, replace(command, limit=size, before=lines[at].below)) for at in needed]
            for at, rows in zip(needed, good((yield pages)), strict=True):
                ended = not rows if chosen else len(rows) < size
                lines[at] = _Line(rows[-1].id if rows else "", [r for r in rows if place(r) < last], ended)
            continue
        newest = max((line for line in lines if line.rows), key=lambda line: place(line.rows[0]), default=None)
        if newest is None:
            break
        page.append(newest.rows.pop(0))
    return page


def inbox(command: c.Inbox, count: int) -> Plan[list[JobRow]]:
    """A page of the jobs that ask, of all partitions, in one order."""
    pages = good((yield [(at, command) for at in range(count)]))
    return sorted((row for page in pages for row in page), key=lambda row: (row.asked, row.id))[: command.limit]
