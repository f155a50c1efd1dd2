"""Deleting one checkpoint: its neighbours stay, and what a job needs is kept."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.contract import load_payload
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import open_envelope
from batonpass.coordinator.snapshots import open_checkpoint
from batonpass.workers.session import LeaseSession
from tests.harness.bench import MINUTE, Bench, commit_of


def test_neighbours_stay_readable(bench: Bench) -> None:
    first, second, third = (bench.save(None, n, thread="run") for n in range(3))
    bench.do(c.Expire(second))
    assert [row.id for row in bench.line("run")] == [third, first]
    assert [open_checkpoint(bench.do(c.Restore(id_))).state for id_ in (first, third)] == [0, 2]
    with bench.refused(bp.NotFound, second):
        bench.do(c.Restore(second))
    assert commit_of(bench.do(c.Restore(third))).parent == second


def test_the_tip_falls_back(bench: Bench) -> None:
    first, second, third = (bench.save(None, thread="run") for _ in range(3))
    bench.do(c.Expire(third))
    assert bench.tip("run") == second
    fourth = bench.save(None, thread="run")
    bench.do(c.Expire(second))
    bench.do(c.Expire(fourth))
    assert bench.tip("run") == first
    bench.do(c.Expire(first))
    assert (bench.tip("run"), bench.line("run")) == ("", [])


def test_a_step_index_never_comes_again(bench: Bench) -> None:
    first = bench.save(None, thread="run")
    bench.do(c.Expire(bench.save(None, thread="run")))
    third = bench.save(None, thread="run")
    commits = [commit_of(row) for row in bench.line("run")]
    assert [(commit.step_index, commit.parent) for commit in commits] == [(2, first), (0, "")]
    bench.do(c.Expire(third))
    bench.do(c.Expire(first))
    bench.save(None, thread="run")
    assert commit_of(bench.line("run")[0]).step_index == 3


def test_it_is_told(bench: Bench) -> None:
    saved = bench.save(None, thread="run")
    bench.do(c.Expire(saved))
    event = bench.do(c.Events(subject="run"))[-1].fields
    assert (event["type"], event["checkpoint"]) == ("batonpass.checkpoint.expired", saved)


def test_what_a_job_would_resume_from_is_kept(bench: Bench) -> None:
    fence = bench.start(thread="run")
    older, tip = (bench.save(fence, thread="run") for _ in range(2))
    with bench.refused(bp.ThreadBusy, f"{fence.job_id} would resume from checkpoint {tip}"):
        bench.do(c.Expire(tip))
    bench.do(c.Expire(older))
    assert bench.happened(fence.job_id)[-1] == "checkpoint.expired"
    bench.suspend(fence)
    with bench.refused(bp.ThreadBusy):
        bench.do(c.Expire(tip))
    bench.do(c.Cancel(fence.job_id))
    bench.do(c.Expire(tip))
    assert bench.tip("run") == ""


def test_once(bench: Bench) -> None:
    saved = bench.save(None, thread="run")
    bench.do(c.Expire(saved))
    with bench.refused(bp.NotFound, saved):
        bench.do(c.Expire(saved))
    with bench.refused(bp.NotFound):
        bench.do(c.Expire(mint("c")))


@pytest.mark.parametrize("fate", ["kept", "expired", "pruned", "deleted"])
def test_a_forked_job_begins_with_the_same_whatever_became_of_its_origin(bench: Bench, fate: str) -> None:
    """All that it needs of its origin is its own: it never goes on from another thread's checkpoint."""
    app = bp.App("forks")
    app.agent("write", accepts=bp.State, returns=bp.State)(lambda state: state)
    face = bench.face(app)
    state = {"text": "a", "notes": "n" * 3000}
    origin = bench.save(None, state, thread="run")
    bench.save(None, state, thread="run")
    job = bench.run(face.fork(origin, agent="write", changes={"text": "b"}))
    if fate == "expired":
        bench.do(c.Expire(origin))
    elif fate == "pruned":
        assert bench.run(face.prune("run", keep_last=1)) == 1
    elif fate == "deleted":
        bench.run(face.delete("run"))
    [delivery] = bench.do(c.Claim("w", ((bench.job(job.id).queue, MINUTE),), (mint("l"),)))
    session = LeaseSession(bench.store, delivery, app)
    envelope = open_envelope(delivery.job.envelope, of="it")
    assert load_payload(bp.State, envelope.payload).model_dump() == {**state, "text": "b"}
    assert envelope.transcript is not None
    assert (session.checkpoint, session.journal) == (None, {})
    saved = session.save(Snapshot(step="first", state=state))
    assert saved.parent_id == origin
    found = bench.run(face.restore(saved.id))
    assert (found.state, found.thread, found.step_index) == (state, job.id, 0)
