"""Lanes: how many deliveries of one key run at once, and how many start in a time.

A delivery that may not run now waits in its lane's line. Somebody always sees to it that the line moves: each delivery
that has a place in the lane (it runs, or was let out of the line and is ready) lets the next one out when it leaves;
where nobody has one, or only time helps, the lane has a gate, which a reap opens. Any other line has a gate that no
time opens: when an agent is declared with other numbers, a reap opens all gates. Who leaves does not know how many may
run: a claim decides that, puts back what came too early, and lets out more if there is room for more.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...contracts import event as kinds
from ..commands import Limits
from ..records import Records
from ..rows import NEVER, JobRow
from .jobs import emit, let_out, pause, store


@dataclass
class Lane:
    """A lane as a claim finds it, and leaves it. Without `limits` everything may run that was let out of its line."""

    name: str
    limits: Limits
    running: int
    admitted: int
    waiting: bool
    opens: int = 0
    """When the next one may start, 0 for now."""


def find_lane(records: Records, name: str, limits: Limits | None) -> Lane:
    """The lane of that name."""
    running, admitted = records.in_lane(name)
    lane = Lane(name, limits or Limits(name), running, admitted, bool(records.first_in_line(name)))
    lane.opens = _opens(records, lane)
    return lane


def _opens(records: Records, lane: Lane) -> int:
    count, per = lane.limits.count, lane.limits.per
    nth = records.nth_start(lane.name, count, records.now - per) if count else 0
    return nth + per if nth else 0


def starts(records: Records, lane: Lane, row: JobRow) -> bool:
    """Whether a ready delivery may start: then it has its place. Else it waits in line."""
    let_out, most = row.slot != "", lane.limits.concurrency
    lane.admitted -= let_out
    if let_out:
        room = not most or lane.running < most
    else:
        room = not lane.waiting and (not most or lane.running + lane.admitted < most)
    row.lane, row.slot = lane.name, ""
    if room and not lane.opens:
        row.slot = lane.name
        lane.running += 1
        if lane.limits.count:
            records.add_start(lane.name, records.now, records.now + lane.limits.per)
            lane.opens = _opens(records, lane)
        return True
    # In the order of the queue: what goes ahead is in front there. What was let out before is in front of its band.
    head = records.first_in_line(lane.name, row.priority) if let_out else None
    row.waits, row.ready = min(max(head.waits - 1, 1), row.ready) if head else row.ready, 0
    row.reason, lane.waiting = "rate_limited" if lane.opens else "limited", True
    pause(records, row)
    emit(records, kinds.LIMITED, row, reason=row.reason)
    store(records, row)
    return False


def move_on(records: Records, lane: Lane) -> None:
    """Let one more out if there is room, or have it let out when it is time. The next claim goes on with that."""
    if not lane.waiting:
        return
    if lane.opens:
        records.put_gate(lane.name, lane.opens)
        return
    if not records.gate(lane.name):
        records.put_gate(lane.name, NEVER)
    if not lane.limits.concurrency or lane.running + lane.admitted < lane.limits.concurrency:
        let_out(records, lane.name)
