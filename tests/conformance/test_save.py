"""Saving: checkpoints form a right chain, whoever saves, and the same checkpoint is saved once."""

from __future__ import annotations

from dataclasses import replace

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import CheckpointRow
from batonpass.coordinator.snapshots import open_checkpoint
from tests.harness.bench import MINUTE, Bench, commit_of, fence_of, new_checkpoint, new_target


def chain(bench: Bench, thread: str) -> list[tuple[str, str, int]]:
    """Id, parent and index of each checkpoint, oldest first."""
    lines = [(row.id, commit_of(row)) for row in bench.line(thread)]
    return [(id_, line.parent, line.step_index) for id_, line in reversed(lines)]


def test_what_comes_back_is_what_was_saved(bench: Bench) -> None:
    new = new_checkpoint({"n": (1, {2})}, step="fetch", thread="run", native={"v": 1}, context={"invoice": "4821"})
    commit = bench.do(c.Save("run", new))
    row = bench.do(c.Restore(new.id))
    assert row == CheckpointRow(new.id, "run", new.header, commit.line(), new.state, new.native)
    assert bench.do(c.Latest("run")) == row
    found = open_checkpoint(row)
    assert (found.state, found.native, found.context) == ({"n": (1, {2})}, {"v": 1}, {"invoice": "4821"})
    assert (found.thread, found.agent, found.step, found.step_index) == ("run", "write", "fetch", 0)
    assert (found.parent_id, found.expires_at) == (None, None)
    assert found.created_at.timestamp() * 1000 == bench.clock.now


def test_each_has_the_one_before_as_parent(bench: Bench) -> None:
    ids = [bench.save(None, n, thread="run") for n in range(4)]
    assert chain(bench, "run") == [(ids[n], ids[n - 1] if n else "", n) for n in range(4)]
    assert bench.tip("run") == ids[3]


def test_the_chain_of_a_job_goes_over_its_hops_and_takeovers(bench: Bench) -> None:
    before = bench.save(None, thread="run")
    fence = bench.start(thread="run")
    first = bench.save(fence, thread="run")
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    fence = bench.take()
    second = bench.save(fence, thread="run")
    last = new_checkpoint(thread="run")
    bench.do(c.HandOff(fence, new_target("review"), last))
    fence = bench.take(agent="review")
    third = bench.save(fence, thread="run")
    bench.do(c.Complete(fence, b"result"))
    after = bench.save(None, thread="run")
    ids = [before, first, second, last.id, third, after]
    assert chain(bench, "run") == [(id_, ids[n - 1] if n else "", n) for n, id_ in enumerate(ids)]


def test_a_jobs_checkpoint_goes_to_its_own_thread_whatever_the_command_says(bench: Bench) -> None:
    fence = bench.start(thread="run")
    saved = bench.save(fence, thread="another")
    assert [row.id for row in bench.line("run")] == [saved]
    assert bench.line("another") == []


def test_the_same_checkpoint_again_answers_as_before(bench: Bench) -> None:
    outside = c.Save("run", new_checkpoint(thread="run"))
    commit = bench.do(outside)
    fence = bench.start()
    inside = c.Save(fence.job_id, new_checkpoint(thread=fence.job_id), fence, records={"a": b"1"})
    committed = bench.do(inside)
    bench.clock.advance(1)
    bench.save(None, thread="run")
    with bench.nothing_changes():
        assert bench.do(outside) == commit
        assert bench.do(inside) == committed


def test_what_was_saved_is_never_replaced(bench: Bench) -> None:
    """Not by another state with the same id either, wherever it is put."""
    fence = bench.start(thread="job")
    for size in (1, 100_000):
        first = new_checkpoint("a" * size, thread="run")
        commit = bench.do(c.Save("run", first))
        held = new_checkpoint("a" * size, thread="job")
        committed = bench.do(c.Save("job", held, fence))
        with bench.nothing_changes():
            for each in ("b", "b" * 70_000):
                assert bench.do(c.Save("run", replace(new_checkpoint(each, thread="run"), id=first.id))) == commit
                assert (
                    bench.do(c.Save("job", replace(new_checkpoint(each, thread="job"), id=held.id), fence)) == committed
                )


def test_it_can_be_saved_again_although_a_job_runs_there_by_now(bench: Bench) -> None:
    command = c.Save("run", new_checkpoint(thread="run"))
    commit = bench.do(command)
    bench.submit(thread="run")
    assert bench.do(command) == commit


def test_an_unended_jobs_thread_is_its_own(bench: Bench) -> None:
    job_id = bench.submit(thread="run")
    with bench.refused(bp.ThreadBusy, f"'run'.*{job_id}"):
        bench.save(None, thread="run")
    bench.do(c.Complete(bench.take(), b"result"))
    bench.save(None, thread="run")


def test_a_parent_that_is_the_tip(bench: Bench) -> None:
    first = bench.save(None, thread="run")
    second = bench.save(None, thread="run", parent=first)
    assert chain(bench, "run") == [(first, "", 0), (second, first, 1)]


def test_a_parent_that_is_not_the_tip_any_more(bench: Bench) -> None:
    first = bench.save(None, thread="run")
    second = bench.save(None, thread="run")
    with bench.refused(bp.Conflict, f"{first}.*{second}.*branch=True"):
        bench.save(None, thread="run", parent=first)


def test_a_branch(bench: Bench) -> None:
    first, second = bench.save(None, thread="run"), bench.save(None, thread="run")
    branch = bench.save(None, thread="run", parent=first, branch=True)
    assert chain(bench, "run") == [(first, "", 0), (second, first, 1), (branch, first, 2)]
    assert bench.tip("run") == branch


@pytest.mark.one_partition
def test_a_branch_from_another_thread(bench: Bench) -> None:
    origin = bench.save(None, thread="run")
    with bench.refused(bp.Conflict, "none is"):
        bench.save(None, thread="fork", parent=origin)
    fork = bench.save(None, thread="fork", parent=origin, branch=True)
    assert chain(bench, "fork") == [(fork, origin, 0)]


@pytest.mark.parametrize("branch", [False, True])
def test_an_unknown_parent(bench: Bench, branch: bool) -> None:
    bench.save(None, thread="run")
    with bench.refused(bp.NotFound, "there is no checkpoint"):
        bench.save(None, thread="run", parent=mint("c"), branch=branch)


def test_records_are_committed_with_the_checkpoint(bench: Bench) -> None:
    fence = bench.start()
    saved = bench.save(fence, thread=fence.job_id, records={"a": b"1"})
    bench.do(c.Release(fence))
    [delivery] = bench.claim()
    assert (delivery.job.tip, dict(delivery.journal)) == (saved, {"a": b"1"})
    bench.save(fence_of(delivery), thread=fence.job_id)
    bench.do(c.Release(fence_of(delivery)))
    [delivery] = bench.claim()
    assert dict(delivery.journal) == {"a": b"1"}


def test_a_large_state(bench: Bench) -> None:
    state = {"text": "x" * 3_000_000, "items": list(range(10_000))}
    saved = bench.save(None, state, thread="run")
    assert open_checkpoint(bench.do(c.Restore(saved))).state == state


def test_a_thread_without_checkpoints(bench: Bench) -> None:
    assert bench.do(c.Latest("none")) is None
    assert bench.line("none") == []
    with bench.refused(bp.NotFound, "there is no checkpoint"):
        bench.do(c.Restore(mint("c")))
