"""Lists of jobs over more of them than one script looks at."""

from __future__ import annotations

from batonpass.coordinator import commands as c
from tests.harness.bench import Bench

LOOK = 2000  # list_jobs.lua


def test_a_state_beyond_what_one_script_looks_at(bench: Bench) -> None:
    old = bench.start("rare").job_id
    bench.clock.advance(1)
    for _ in range(LOOK):
        bench.submit()
    [passed] = bench.do(c.ListJobs(50, state="working"))
    assert passed.state == "submitted", "it tells how far it came"
    [found] = bench.do(c.ListJobs(50, passed.id, state="working"))
    assert found.id == old
    assert bench.do(c.ListJobs(50, old, state="working")) == []
    assert [info.id for info in bench.run(bench.face().jobs(state="working"))] == [old]
