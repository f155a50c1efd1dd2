"""Lists of jobs over several partitions, page by page."""

from __future__ import annotations

from dataclasses import field, replace

from ...contracts.lean import dataclass
from ...contracts.names import partition_of
from .. import commands as c
from ..rows import JobRow
from .partitions_plan import Plan, good

# Each partition is asked for this many more than its even share, because jobs are spread by chance.
_MORE = 8


@dataclass
class _Line:
    """A partition's jobs, newest first, as far as they have been read. The next ones are below a place, a time and an
    id. Others may move the job that was there, or delete it, before more are read."""

    below: tuple[int, str]
    rows: list[JobRow] = field(default_factory=list[JobRow])
    ended: bool = False


def list_jobs(command: c.ListJobs, count: int) -> Plan[list[JobRow]]:
    """A page. Reads more from a partition whenever its jobs are used up."""

    def place(row: JobRow) -> tuple[int, str]:
        return row.updated if command.dead else row.created, row.id

    below = command.at, command.before
    if command.before and not command.at:
        [row] = good((yield [(partition_of(command.before) % count, c.ReadJob(command.before))]))
        below = place(row)
    lines = [_Line(below) for _ in range(count)]
    size = command.limit // count + _MORE
    page: list[JobRow] = []
    while len(page) < command.limit:
        needed = [at for at, line in enumerate(lines) if not line.rows and not line.ended]
        if needed:
            starts = ((at, *lines[at].below) for at in needed)
            pages = [(at, replace(command, limit=size, at=time, before=job)) for at, time, job in starts]
            for at, rows in zip(needed, good((yield pages)), strict=True):
                ended = not rows if command.chooses else len(rows) < size
                lines[at] = _Line(place(rows[-1]) if rows else lines[at].below, rows, ended)
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
