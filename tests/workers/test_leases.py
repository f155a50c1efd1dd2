"""A lease is kept while agent code blocks whatever it can block."""

from __future__ import annotations

from collections import Counter

import pytest

import batonpass as bp

from .agents import Task, app
from .processes import Desk

LEASE, LONG = 0.75, 6
KINDS = ("blocks-loop", "blocks-thread", "computes")


@pytest.mark.timeout(240)
def test_heartbeats_go_on_under_blocking_code(desk: Desk) -> None:
    """Sync code, code that never lets go of the processor, and async code that blocks its loop: all for six leases,
    claimed at once by one process; another worker stands by to take over."""
    agents, options = ",".join(KINDS), ("--lease", str(LEASE))
    with bp.connect(desk.url, app=app) as coordinator:
        jobs = {kind: coordinator.submit(kind, Task(text=kind, seconds=LONG * LEASE)) for kind in KINDS}
        first = desk.serving(agents, *options)
        desk.serving(agents, *options)
        for kind, job in jobs.items():
            assert job.result(timeout=60).words == [kind], first.said()
            info = job.info()
            events = [event.type.removeprefix("batonpass.") for event in coordinator.events(job=job.id)]
            assert events == ["job.submitted", "job.started", "job.completed"], first.said()
            assert (info.attempt, info.hop) == (1, 0)
    assert desk.ran() == Counter(KINDS)
