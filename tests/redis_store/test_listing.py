"""Lists of jobs over more of them than one script looks at."""

from __future__ import annotations

from batonpass.coordinator import commands as c
from tests.harness.bench import Bench
from tests.harness.children import Family

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


def test_more_children_than_one_script_looks_at(bench: Bench) -> None:
    parents = list[str]()
    for _ in range(LOOK // 500 + 1):
        family = Family(bench, bench.start("top"), 500)
        family.spawn()
        parents.insert(0, family.parent)
        bench.clock.advance(1)
    late = Family(bench, bench.start("late"), 500)
    assert bench.do(c.ListJobs(50, children=False))[-1].parent, "it tells how far it came"
    assert [info.id for info in bench.run(bench.face().jobs(children=False))] == [late.parent, *parents]
