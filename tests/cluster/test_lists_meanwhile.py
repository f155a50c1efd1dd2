"""A page of jobs of several partitions is read in rounds: what others do between them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.memory.store import MemoryStore
from batonpass.coordinator.redis import partitions_jobs
from batonpass.coordinator.rows import JobRow
from tests.harness.bench import MINUTE, fence_of, new_job, new_target

COUNT, BUSY = 16, 3
NUMBER = 60


def filled() -> tuple[list[MemoryStore], set[str]]:
    """Partitions of which one has all the jobs, which failed."""
    stores = [MemoryStore() for _ in range(COUNT)]
    made: set[str] = set()
    for _ in range(NUMBER):
        job = mint("j", BUSY)
        stores[BUSY].call(replace(new_job(), job_id=job, thread=job))
        [taken] = stores[BUSY].call(c.Claim("w", ((new_target().queue, MINUTE),), (mint("l", BUSY),)))
        stores[BUSY].call(c.Fail(fence_of(taken), "permanent", "no"))
        made.add(job)
    return stores, made


@pytest.mark.parametrize("dead", [True, False])
@pytest.mark.parametrize("act", [c.DeleteJob, c.Redrive])
def test_the_last_one_that_a_round_read_is_deleted_or_redriven(dead: bool, act: Any) -> None:
    stores, made = filled()
    plan: Any = partitions_jobs.list_jobs(c.ListJobs(2 * NUMBER, dead=dead), COUNT)
    asked, rounds = next(plan), 0
    page: list[JobRow] = []
    while not page:
        outcomes = [stores[at].call(command) for at, command in asked]
        rounds += 1
        for at, rows in zip((at for at, _ in asked), outcomes, strict=True):
            if rows:
                stores[at].call(act(rows[-1].id))
        try:
            asked = plan.send(outcomes)
        except StopIteration as end:
            page = end.value
    assert rounds > 2
    assert len(page) == NUMBER
    assert {row.id for row in page} == made
