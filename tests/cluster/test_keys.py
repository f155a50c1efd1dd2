"""Idempotency keys are unique in the namespace, although the jobs of one may live in different partitions."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.contracts.names import digest, home
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.cluster import ClusterStore
from batonpass.coordinator.redis.partitions_plan import Note
from tests.harness.bench import MINUTE, Bench, fence_of, new_job

COUNT = 16
KEY_HOME = home(digest("key", "write", "k")) % COUNT
ELSEWHERE = [name for name in map(str, range(99)) if home(name) % COUNT != KEY_HOME][:3]


def ask(bench: Bench, note: Note) -> None:
    """Leave a note at the key's home, as if a submit had died after that."""
    store = bench.store
    assert isinstance(store, ClusterStore)

    def plan() -> object:
        yield [(KEY_HOME, note)]

    store._run(store._carried_out(plan()))  # type: ignore[arg-type]


def noted(thread: str) -> tuple[c.Submit, Note]:
    submit = new_job(thread=thread, key="k", key_ttl=MINUTE)
    return submit, Note(submit.idem, submit.job_id, submit.payload_digest, submit.key_ttl)


def test_the_same_key_is_the_same_job_wherever_it_is_asked_for(bench: Bench) -> None:
    job_id = bench.submit(thread=ELSEWHERE[0], key="k")
    for thread in (ELSEWHERE[0], "", ELSEWHERE[1]):
        assert bench.submit(thread=thread, key="k") == job_id
    with pytest.raises(bp.KeyConflict, match=job_id):
        bench.submit(thread=ELSEWHERE[2], key="k", payload='{"a":1}')
    with pytest.raises(bp.KeyConflict, match=job_id):
        bench.submit(key="k", payload='{"a":1}')
    assert bench.submit("review", key="k") != job_id
    assert len(bench.claim(9)) == 1


def test_a_key_that_was_used_at_home_first(bench: Bench) -> None:
    job_id = bench.submit(key="k")
    assert bench.submit(thread=ELSEWHERE[0], key="k") == job_id
    with pytest.raises(bp.KeyConflict, match=job_id):
        bench.submit(thread=ELSEWHERE[0], key="k", payload='{"a":1}')


@pytest.mark.parametrize("then", ["", ELSEWHERE[0], ELSEWHERE[1]])
@pytest.mark.parametrize("payload", ["{}", '{"a":1}'])
def test_a_key_is_free_again_after_its_time(bench: Bench, then: str, payload: str) -> None:
    first = bench.submit(thread=ELSEWHERE[0], key="k", key_ttl=MINUTE)
    [delivery] = bench.claim()
    bench.clock.advance(10 * MINUTE)  # its time begins with the job's end
    assert bench.submit(thread=then, key="k") == first
    bench.do(c.Complete(fence_of(delivery), b"result"))
    bench.clock.advance(MINUTE // 2)
    assert bench.submit(thread=then, key="k") == first
    bench.clock.advance(MINUTE)
    second = bench.submit(thread=then, key="k", payload=payload)
    assert second != first
    assert bench.submit(key="k", payload=payload) == second


def test_a_submit_that_died_before_its_job_is_done_again(bench: Bench) -> None:
    submit, note = noted(ELSEWHERE[0])
    ask(bench, note)
    assert bench.submit(thread=ELSEWHERE[0], key="k") == submit.job_id
    assert bench.submit(key="k") == submit.job_id


@pytest.mark.parametrize("thread", ["", ELSEWHERE[1]])
def test_a_submit_that_died_keeps_its_key_for_a_moment_only(bench: Bench, thread: str) -> None:
    _, note = noted(ELSEWHERE[0])
    ask(bench, note)
    with pytest.raises(bp.Overloaded, match="in progress: try again"):
        bench.submit(thread=thread, key="k")
    bench.clock.advance(MINUTE)
    job_id = bench.submit(thread=thread, key="k")
    assert bench.submit(thread=ELSEWHERE[0], key="k") == job_id
    assert [each.job.id for each in bench.claim(9)] == [job_id]


def test_a_note_of_a_submit_that_died_finds_no_job(bench: Bench) -> None:
    """And one whose job made its key known in its own partition finds it, although the note is elsewhere."""
    submit, note = noted(ELSEWHERE[0])
    ask(bench, note)
    assert bench.do(c.FirstUse(submit.idem)) is None
    job_id = bench.submit(thread=ELSEWHERE[0], key="k")
    assert job_id == submit.job_id
    found = bench.do(c.FirstUse(submit.idem))
    assert found == bench.job(job_id)
