"""Pauses of agents over several partitions: each keeps them, because a claim asks only the partition that it claims in.

Partition 0 decides, tells readers, and has the event. The others follow it by the time of its change, and ignore an
older one than the last they know. So a pause and a resume that cross leave all partitions with the later of the two. If
one can't be reached, the caller gets that error, and the same call again makes it follow.
"""

from __future__ import annotations

from dataclasses import replace

from .. import commands as c
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
    if not changed.at:
        return changed  # it never was paused
    outcomes = yield [(at, replace(command, at=changed.at)) for at in range(1, count)]
    for at, outcome in enumerate(outcomes, 1):
        yield from told(at, outcome)
    good(outcomes)
    return changed
