"""Upkeep of all jobs or threads of several partitions, a portion at a time."""

from __future__ import annotations

from dataclasses import replace

from .. import commands as c
from .partitions_plan import Plan, good


def threads(command: c.Threads, count: int) -> Plan[list[str]]:
    """A page of the threads of all partitions, in one order."""
    pages = good((yield [(at, command) for at in range(count)]))
    return sorted(name for page in pages for name in page)[: command.limit]


def prune_jobs(command: c.PruneJobs, count: int) -> Plan[c.Freed]:
    """One partition after the other. The number to go on from is the job's number there times `count`, plus the
    partition."""
    start, at = divmod(command.start, count)
    freed = 0
    while at < count:
        [one] = good((yield [(at, replace(command, start=start, limit=max(command.limit - freed, 1)))]))
        freed += one.count
        if one.next >= 0:
            return c.Freed(freed, one.next * count + at)
        start, at = 0, at + 1
        if freed >= command.limit and at < count:
            return c.Freed(freed, at)
    return c.Freed(freed)
