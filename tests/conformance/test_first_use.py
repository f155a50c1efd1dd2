"""Looking a job up by its idempotency key."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.names import digest
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, fence_of, new_target

KEYS = ["k", "k\0", "a:b\n*{x}", "ü" * 300]


def found(bench: Bench, key: str = "k", agent: str = "write") -> list[str]:
    return [info.id for info in bench.run(bench.face().jobs(agent=agent, key=key))]


def test_it_is_the_job_that_was_submitted_with_it(bench: Bench) -> None:
    jobs = {key: bench.submit(key=key) for key in KEYS}
    other = bench.submit("review", key="k")
    bench.submit()
    with bench.nothing_changes():
        assert {key: found(bench, key) for key in KEYS} == {key: [job] for key, job in jobs.items()}
        assert found(bench, agent="review") == [other]
        assert found(bench, agent="nobody") == found(bench, "K") == found(bench, "") == []
    row = bench.do(c.FirstUse(digest("key", "write", "k")))
    assert row == bench.job(jobs["k"])


def test_wherever_it_lives_and_whatever_it_does(bench: Bench) -> None:
    """Its thread may be in another partition than its key, and another agent may have it by now."""
    jobs = {name: bench.submit(thread=name, key=name) for name in map(str, range(5))}
    for delivery in bench.claim(5):
        bench.do(c.HandOff(fence_of(delivery), new_target("review")))
    assert {name: found(bench, name) for name in jobs} == {name: [job] for name, job in jobs.items()}
    assert found(bench, "0", agent="review") == []


@pytest.mark.parametrize("thread", ["", *map(str, range(4))])
def test_until_the_key_expires(bench: Bench, thread: str) -> None:
    job = bench.submit(thread=thread, key="k", key_ttl=MINUTE)
    bench.clock.advance(3 * MINUTE)  # its time begins with the job's end
    assert found(bench) == [job]
    assert bench.do(c.Cancel(job))
    assert found(bench) == [job]
    bench.clock.advance(MINUTE + 1)
    assert found(bench) == []
    again = bench.submit(key="k", payload="another")
    assert found(bench) == [again] != [job]


def test_until_the_job_is_deleted(bench: Bench) -> None:
    job = bench.submit(thread="t", key="k")
    assert bench.do(c.Cancel(job))
    bench.do(c.DeleteJob(job))
    assert found(bench) == []


@pytest.mark.parametrize("more", [{"agent": None}, {"state": "failed"}, {"parent": "j"}, {"before": "j"}], ids=str)
def test_a_key_is_an_agents_and_names_one_job(bench: Bench, more: dict[str, Any]) -> None:
    with bench.refused(bp.BadSetup, "give both, and no other filter"):
        bench.run(bench.face().jobs(**{"agent": "write", "key": "k", **more}))
    assert bench.run(bench.face().jobs(agent="write", key="k", limit=0)) == []
