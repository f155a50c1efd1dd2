"""Pauses of agents over several partitions: each keeps them, because a claim asks only the partition that it claims in.

Partition 0 decides, tells readers, and has the event. The others follow it by the time of its change, and ignore an
older one than the last they know. So a pause and a resume that cross leave all partitions with the later of the two. If
one can't be reached, the caller gets that error, and the same call again makes it follow.

A failover may lose the last changes in partition 0 alone, or give it a clock that is behind. Then the others know of a
later change than it does, and it decides again, with a time after that. If it lost all that it knew of an agent, a
resume finds the pause by asking the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from .. import commands as c
from ..rows import PauseRow
from .partitions_plan import Plan, good, told


def pause(command: c.PauseAgent, count: int) -> Plan[c.Changed]:
    """When it returns, no partition lets a job of the agent be claimed."""
    changed: c.Changed
    [changed] = good((yield [(0, command)]))
    return (yield from _followed(command, changed, count))


def resume(command: c.ResumeAgent, count: int) -> Plan[c.Changed]:
    """Wakes workers for what each partition has."""
    [answer] = good((yield [(0, command)]))
    changed: c.Changed = yield from told(0, answer)
    if not changed.at:
        pages = good((yield [(at, c.Pauses()) for at in range(1, count)]))
        if not any(row.agent == command.agent for page in pages for row in cast("list[PauseRow]", page)):
            return changed  # it never was paused
        changed = c.Changed(False, 1)  # earlier than what they know
    return (yield from _followed(command, changed, count))


def _followed(command: c.PauseAgent | c.ResumeAgent, changed: c.Changed, count: int) -> Plan[c.Changed]:
    """Have the others follow partition 0."""
    followers = range(1, count)
    known = yield from _tell(command, changed.at, followers)
    if (latest := max(known, default=0)) <= changed.at:
        return changed
    [last] = yield from _tell(command, changed.at, [0])  # it has done this: it only tells its last change
    if last >= latest:
        return changed  # a call that crossed is what the others know of
    # Partition 0 first: two calls that do this at once can't have their ways with the same time.
    [answer] = good((yield [(0, replace(command, at=latest + 1))]))
    again: c.Changed = yield from told(0, answer)
    if again.now:
        yield from _tell(command, again.at, followers)
    return again


def _tell(command: c.PauseAgent | c.ResumeAgent, since: int, partitions: Iterable[int]) -> Plan[list[int]]:
    """Tell partitions of a change. Returns the time of the last one that each then knows."""
    asked = [(at, replace(command, at=since)) for at in partitions]
    outcomes = yield asked
    answers = list[c.Changed]()
    for (at, _), outcome in zip(asked, outcomes, strict=True):
        answers.append((yield from told(at, outcome)))
    return [answer.at for answer in good(answers)]
