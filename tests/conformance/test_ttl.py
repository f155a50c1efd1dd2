"""A checkpoint with a time to live: hidden at once when that is over, freed by reap, kept while a job needs it."""

from __future__ import annotations

import contextlib

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.calls.freeing import Freeing
from tests.harness.bench import MINUTE, Bench, commit_of, new_checkpoint


def free(bench: Bench) -> None:
    """What has expired is freed in rounds; one that a job needed is looked at again a minute later."""
    for _ in range(3):
        bench.do(c.Reap())
        bench.clock.advance(MINUTE + 1)


def test_it_is_there_until_its_time_is_over(bench: Bench) -> None:
    saved = bench.save(None, thread="run", ttl=MINUTE)
    assert commit_of(bench.do(c.Restore(saved))).expires == bench.clock.now + MINUTE
    bench.clock.advance(MINUTE - 1)
    bench.do(c.Reap())
    assert bench.do(c.Restore(saved)).id == bench.tip("run") == saved
    bench.clock.advance(1)
    with bench.refused(bp.NotFound, saved):
        bench.do(c.Restore(saved))
    assert (bench.tip("run"), bench.line("run")) == ("", [])


def test_reads_fall_back_to_what_is_left(bench: Bench) -> None:
    kept = bench.save(None, thread="run")
    for _ in range(3):
        bench.save(None, thread="run", ttl=MINUTE)
    later = bench.save(None, thread="run", ttl=2 * MINUTE)
    bench.clock.advance(MINUTE)
    assert [row.id for row in bench.line("run")] == [later, kept]
    assert bench.tip("run") == later
    bench.clock.advance(MINUTE)
    assert [row.id for row in bench.line("run")] == [kept]
    assert bench.tip("run") == kept


def test_reads_fall_back_over_hundreds(bench: Bench) -> None:
    kept = bench.save(None, thread="run")
    for _ in range(300):
        bench.save(None, thread="run", ttl=MINUTE)
    bench.clock.advance(MINUTE)
    assert (bench.tip("run"), [row.id for row in bench.line("run")]) == (kept, [kept])


def test_what_has_expired_is_no_parent(bench: Bench) -> None:
    """Changes belong to the checkpoint that the client knows, which it names as their parent."""
    kept = bench.save(None, thread="run")
    over = bench.save(None, thread="run", ttl=MINUTE)
    bench.clock.advance(MINUTE)
    with bench.refused(bp.Conflict, over):
        bench.save(None, thread="run", parent=over)
    saved = bench.save(None, thread="run", parent=kept)
    assert [row.id for row in bench.do(c.Ancestors(saved))] == [saved, kept]


@pytest.mark.parametrize("freed", [False, True])
def test_a_chain_ends_at_what_has_expired(bench: Bench, *, freed: bool) -> None:
    bench.save(None, thread="run")
    bench.save(None, thread="run", ttl=MINUTE)
    newest = [bench.save(None, thread="run") for _ in range(2)]
    bench.clock.advance(MINUTE)
    if freed:
        free(bench)
    assert [row.id for row in bench.do(c.Ancestors(newest[1]))] == newest[::-1]


def test_reap_frees_it(bench: Bench) -> None:
    kept = bench.save(None, thread="run")
    gone = bench.save(None, thread="run", ttl=MINUTE)
    bench.clock.advance(MINUTE)
    assert bench.do(c.Reap()).moved == 0
    with bench.refused(bp.NotFound, gone):
        bench.do(c.Expire(gone))
    assert bench.happened("run")[-1] == "checkpoint.expired"
    assert commit_of(bench.do(c.Restore(bench.save(None, thread="run")))).parent == kept


def test_what_is_saved_next_goes_on_from_what_is_left(bench: Bench) -> None:
    """That holds whether the expired ones were freed or not."""
    for thread, freed in (("run", False), ("other", True)):
        older = bench.save(None, thread=thread)
        for _ in range(2):
            bench.save(None, thread=thread, ttl=MINUTE)
        bench.clock.advance(MINUTE)
        if freed:
            free(bench)
        saved = bench.save(None, thread=thread)
        assert [row.id for row in bench.do(c.Ancestors(saved))] == [saved, older]


@pytest.mark.parametrize("freed", [False, True])
def test_a_job_that_is_submitted_goes_on_from_what_is_left(bench: Bench, *, freed: bool) -> None:
    older = bench.save(None, thread="run")
    bench.save(None, thread="run", ttl=MINUTE)
    bench.save(None, thread="empty", ttl=MINUTE)
    bench.clock.advance(MINUTE)
    if freed:
        free(bench)
    for thread, tip in (("run", older), ("empty", "")):
        fence = bench.start(thread=thread)
        assert bench.job(fence.job_id).tip == bench.job(fence.job_id).began == tip
        saved = bench.save(fence, thread=thread)
        assert [row.id for row in bench.do(c.Ancestors(saved))] == [saved, *([tip] if tip else [])]


@pytest.mark.parametrize("on_busy", ["queue", "interrupt"])
def test_so_does_the_next_job_of_a_thread(bench: Bench, on_busy: str) -> None:
    older = bench.save(None, thread="run")
    first = bench.start(thread="run", lease=9 * MINUTE)
    over = bench.save(first, thread="run", ttl=MINUTE)
    bench.clock.advance(MINUTE)
    assert bench.job(first.job_id).tip == over
    following = bench.submit(thread="run", on_busy=on_busy)
    if on_busy == "queue":
        bench.do(c.Complete(first, b"done"))
    assert bench.job(following).tip == older


def test_a_thread_goes_with_its_last_checkpoint(bench: Bench) -> None:
    """Otherwise a trace of each chat would stay for ever."""
    running = bench.start(thread="busy", lease=100 * MINUTE)
    bench.save(running, thread="busy", ttl=MINUTE)
    for thread in ("run", "other"):
        bench.save(None, thread=thread, ttl=MINUTE)
    bench.save(None, thread="other")
    bench.clock.advance(MINUTE)
    free(bench)
    assert bench.do(c.Threads()) == ["busy", "other"]
    bench.do(c.Complete(running, b"result"))
    free(bench)
    bench.do(c.DeleteJob(running.job_id))
    assert bench.do(c.Threads()) == ["other"]
    assert commit_of(bench.do(c.Restore(bench.save(None, thread="run")))).parent == ""


def test_reap_frees_no_more_than_its_limit(bench: Bench) -> None:
    for _ in range(5):
        bench.save(None, thread="run", ttl=MINUTE)
    bench.clock.advance(MINUTE)
    bench.do(c.Reap(limit=3))
    assert bench.happened("run").count("checkpoint.expired") == 3
    bench.do(c.Reap(limit=3))
    assert bench.happened("run").count("checkpoint.expired") == 5


def test_reap_tells_whether_expired_checkpoints_are_left(bench: Bench) -> None:
    """Otherwise each worker frees as many a second as one command may, and those that are saved faster stay for
    ever."""
    for _ in range(6):
        bench.save(None, thread="run", ttl=MINUTE)
    bench.clock.advance(MINUTE)
    assert [bench.do(c.Reap(limit=2)).next_due for _ in range(4)] == [1, 1, -1, -1]


def test_it_tells_so_beside_a_dead_worker(bench: Bench) -> None:
    """And does not say so when none are left: whoever frees what has expired went on at each write, for ever."""
    bench.start(lease=MINUTE)
    for _ in range(4):
        bench.save(None, thread="run", ttl=MINUTE)
    bench.clock.advance(MINUTE)
    reaped = [bench.do(c.Reap(limit=2, leases=False)) for _ in range(3)]
    assert [(one.next_due, one.left) for one in reaped] == [(0, True), (0, False), (0, False)]


def test_freeing_beside_a_dead_worker(bench: Bench) -> None:
    bench.start(lease=MINUTE)
    bench.clock.advance(MINUTE)
    freeing = Freeing()
    assert sum(_asked(bench, freeing) for _ in range(300)) == 3


def _asked(bench: Bench, freeing: Freeing) -> int:
    """How often one write asks to free what has expired."""
    call, asked = freeing.wrote(), 0
    with contextlib.suppress(StopIteration):
        command = next(call)
        while True:
            asked += 1
            command = call.send(bench.do(command))
    return asked


def test_those_that_jobs_need_are_not_left(bench: Bench) -> None:
    """Nobody may free them, so nobody should try again at once."""
    for number in range(5):
        fence = bench.start(thread=f"busy {number}", lease=100 * MINUTE)
        bench.save(fence, thread=f"busy {number}", ttl=MINUTE)
    bench.save(None, thread="run", ttl=2 * MINUTE)
    bench.clock.advance(2 * MINUTE)
    due = [bench.do(c.Reap(limit=2)).next_due for _ in range(6)]
    assert due[3:] == [98 * MINUTE] * 3
    assert bench.happened("run")[-1] == "checkpoint.expired"


def test_what_a_job_resumes_from_is_not_freed(bench: Bench) -> None:
    fence = bench.start(thread="run")
    older = bench.save(fence, thread="run", ttl=MINUTE)
    tip = bench.save(fence, thread="run", ttl=MINUTE)
    bench.do(c.Release(fence))
    bench.clock.advance(2 * MINUTE)
    free(bench)
    [delivery] = bench.claim(lease=100 * MINUTE)
    assert delivery.checkpoint is not None
    assert delivery.checkpoint.id == delivery.job.tip == tip
    expired = [row.fields["checkpoint"] for row in bench.do(c.Events(limit=500)) if "expired" in row.fields["type"]]
    assert expired == [older]
    bench.do(c.Complete(delivery.job.fence, b"result"))
    free(bench)
    with bench.refused(bp.NotFound):
        bench.do(c.Expire(tip))


def test_a_job_goes_on_from_an_expired_checkpoint_that_it_needs(bench: Bench) -> None:
    fence = bench.start(thread="run", lease=MINUTE)
    tip = bench.save(fence, thread="run", ttl=1000)
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    [delivery] = bench.claim()
    assert delivery.checkpoint is not None
    assert delivery.checkpoint.id == tip


def test_an_origin_in_another_thread_is_freed_in_its_time(bench: Bench) -> None:
    origin = bench.save(None, thread="run", ttl=MINUTE)
    job_id = bench.submit(origin=origin)
    bench.clock.advance(MINUTE)
    free(bench)
    with pytest.raises(bp.NotFound):
        bench.do(c.Expire(origin))
    assert bench.take().job_id == job_id


def test_the_same_checkpoint_again_lives_no_longer(bench: Bench) -> None:
    command = c.Save("run", new_checkpoint(thread="run", ttl=MINUTE))
    commit = bench.do(command)
    bench.clock.advance(MINUTE // 2)
    assert bench.do(command).expires == commit.expires


def test_who_saves_with_a_ttl_frees_what_has_expired(bench: Bench) -> None:
    """Otherwise a store that no worker uses would grow for ever."""
    face = bench.face()
    for turn in range(2):
        for number in range(100):
            bench.run(face.save(thread=f"chat {turn} {number}", agent="chat", state={"said": "hello"}, ttl=60))
        bench.clock.advance(MINUTE)
    freed = [number for number in range(100) if bench.happened(f"chat 0 {number}")[-1] == "checkpoint.expired"]
    assert freed == list(range(100))


@pytest.mark.parametrize("dead", [False, True], ids=["", "beside a dead worker"])
def test_without_workers_those_who_write_free_all(bench: Bench, dead: bool) -> None:
    """Of checkpoints with many spans, a dozen is freed at once, and a hundred were written meanwhile."""
    if dead:
        bench.start(lease=1)
    state = {f"part {number}": "x" * 900 for number in range(50)}
    coordinator, sizes = bench.face(), list[int]()
    for number in range(300):
        state[f"part {number % 50}"] = f"{number}" * 300
        bench.run(coordinator.save(thread="run", agent="write", state=state, ttl=1))
        bench.clock.advance(50)
        if number in (19, 299):
            sizes.append(sum(len(str(each)) for each in bench.harness.dump().values()))
    assert sizes[1] < 300 / 20 / 2 * sizes[0]
