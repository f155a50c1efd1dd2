"""Pauses of agents over several partitions: each keeps them, because a claim asks only the partition that it claims in.

Partition 0 decides, tells readers, and has the event. The others follow it by the time of its change, and ignore an
older one than the last they know. So a pause and a resume that cross leave all partitions with the later of the two. If
one can't be reached, the caller gets that error, and the same call again makes it follow.

A failover may lose a pause in partition 0 alone. Nobody sees it then, but the others still keep it. So a resume that
finds nothing to do there asks them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from .. import commands as c
from ..rows import PauseRow
from .partitions_plan import Plan, good, told


def pause(command: c.PauseAgent, count: int) -> Plan[c.Changed]:
    """When it returns, no partition lets a job of the agent be claimed."""
    changed: c.Changed
    [changed] = good((yield [(0, command)]))
    good((yield [(at, replace(command, at=changed.at)) for at in range(1, count)]))
    return changed


def resume(command: c.ResumeAgent, count: int) -> Plan[c.Changed]:
    """Wakes workers for what each partition has."""
    [answer] = good((yield [(0, command)]))
    changed: c.Changed = yield from told(0, answer)
    followers, since = range(1, count), changed.at
    if not changed.now and followers:
        pages = yield [(at, c.Pauses()) for at in followers]
        kept = [
            row.at
            for page in pages
            if isinstance(page, list)
            for row in cast("list[PauseRow]", page)
            if row.agent == command.agent
        ]
        if (latest := max(kept, default=0)) > since:
            # All get the same time. If a pause crosses, partition 0 gave it a later one, or gives it one now.
            followers, since = range(count), latest + 1
            changed = c.Changed(True, since)
        elif not since:
            good(pages)
    if not since:
        return changed  # it never was paused
    outcomes = yield [(at, replace(command, at=since)) for at in followers]
    for at, outcome in zip(followers, outcomes, strict=True):
        yield from told(at, outcome)
    good(outcomes)
    return changed
