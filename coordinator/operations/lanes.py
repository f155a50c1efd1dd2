"""Lanes limit how many deliveries of one key run at once, and how many start within a time.

A delivery that may not run now waits in its lane's line. Something always makes the line move. A delivery has a place
in the lane if it runs, or was let out of the line and is ready; when it leaves, it lets the next one out. If no
delivery has a place, or if only time helps, the lane has a gate, which a reap opens at its time. Any other line has a
gate without a time: when an agent is declared with other numbers, a reap opens all gates. A delivery that leaves does
not know how many may run. A claim decides that: it puts back what came out too early, and lets out more if there is
room.
"""

from __future__ import annotations

from ...contracts import event as kinds
from ...contracts.lean import dataclass
from ..commands import Limits
from ..records import Records
from ..rows import NEVER, JobRow
from .jobs import emit, let_out, pause, store


@dataclass
class Lane:
    """A lane as a claim finds it and changes it. Without `limits`, everything may run that was let out of its line."""

    name: str
    limits: Limits
    running: int
    admitted: int
    waiting: bool
    opens: int = 0
    """When the next one may start, 0 for now."""


def find_lane(records: Records, name: str, limits: Limits | None) -> Lane:
    """Reads the lane of that name."""
    running, admitted = records.in_lane(name)
    lane = Lane(name, limits or Limits(name), running, admitted, bool(records.first_in_line(name)))
    lane.opens = _opens(records, lane)
    return lane


def _opens(records: Records, lane: Lane) -> int:
    count, per = lane.limits.count, lane.limits.per
    nth = records.nth_start(lane.name, count, records.now - per) if count else 0
    return nth + per if nth else 0


def starts(records: Records, lane: Lane, row: JobRow) -> bool:
    """Whether a ready delivery may start. Then it gets a place, else it waits in line."""
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
    # Ordered as in the queue, where those that go ahead are first. Those let out before are first in their band.
    head = records.first_in_line(lane.name, row.priority) if let_out else None
    row.waits, row.ready = min(max(head.waits - 1, 1), row.ready) if head else row.ready, 0
    row.reason, lane.waiting = "rate_limited" if lane.opens else "limited", True
    pause(records, row)
    emit(records, kinds.LIMITED, row, reason=row.reason)
    store(records, row)
    return False


def move_on(records: Records, lane: Lane) -> None:
    """Let one more out if there is room, or set the gate for when there will be. The next claim repeats that."""
    if not lane.waiting:
        return
    if lane.opens:
        records.put_gate(lane.name, lane.opens)
        return
    if not records.gate(lane.name):
        records.put_gate(lane.name, NEVER)
    if not lane.limits.concurrency or lane.running + lane.admitted < lane.limits.concurrency:
        let_out(records, lane.name)
