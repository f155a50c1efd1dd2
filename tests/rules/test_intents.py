"""Rule 6: the same intent happens once, even if many say it at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, new_checkpoint, new_job, new_target

MANY = 8


def at_once(bench: Bench, make: Callable[[int], c.Command[Any]]) -> list[Any]:
    """Carry each command out in its own thread, on its own connection, all at once. Returns the answers or refusals."""
    ready = Barrier(MANY)

    def one(n: int) -> Any:
        store = bench.store.sibling()
        command = make(n)
        ready.wait(10)
        try:
            return store.call(command)
        except bp.BatonpassError as error:
            return error
        finally:
            if store is not bench.store:
                store.close()

    with ThreadPoolExecutor(MANY) as pool:
        return list(pool.map(one, range(MANY)))


def test_one_key(bench: Bench) -> None:
    rows = at_once(bench, lambda _: new_job(key="k"))
    assert len({row.id for row in rows}) == 1
    assert len(bench.do(c.ListJobs())) == 1


def test_one_key_with_many_payloads(bench: Bench) -> None:
    answers = at_once(bench, lambda n: new_job(key="k", payload=str(n)))
    assert [isinstance(answer, bp.KeyConflict) for answer in answers].count(False) == 1
    assert len(bench.do(c.ListJobs())) == 1


def test_one_thread(bench: Bench) -> None:
    answers = at_once(bench, lambda _: new_job(thread="run"))
    assert [isinstance(answer, bp.ThreadBusy) for answer in answers].count(False) == 1


def test_one_job_and_many_workers(bench: Bench) -> None:
    bench.submit()
    queue = new_target().queue
    answers = at_once(bench, lambda n: c.Claim(f"w{n}", ((queue, MINUTE),), (mint("l"),)))
    assert sorted(map(len, answers)) == [0] * (MANY - 1) + [1]


def test_many_jobs_and_many_workers(bench: Bench) -> None:
    jobs = {bench.submit() for _ in range(MANY)}
    queue = new_target().queue
    answers = at_once(bench, lambda n: c.Claim(f"w{n}", ((queue, MINUTE),), (mint("l"),)))
    assert {delivery.job.id for answer in answers for delivery in answer} == jobs


def test_one_ending_said_by_many(bench: Bench) -> None:
    fence = bench.start()
    command = c.HandOff(fence, new_target("review"), new_checkpoint(thread=fence.job_id))
    assert at_once(bench, lambda _: command) == [None] * MANY
    assert bench.job(fence.job_id).hop == 1
    assert bench.happened(fence.job_id).count("job.handed_off") == 1


def test_different_endings_of_one_delivery(bench: Bench) -> None:
    fence = bench.start()
    endings = [
        c.Complete(fence, b"result"),
        c.Fail(fence, "boom", "attempts"),
        c.Suspend(fence, b"?"),
        c.Sleep(fence, 1),
        c.Release(fence),
    ]
    answers = at_once(bench, lambda n: endings[n % 5])
    done = {n % 5 for n, answer in enumerate(answers) if answer is None}
    assert len(done) == 1
    assert all(isinstance(answer, bp.Fenced) for n, answer in enumerate(answers) if n % 5 not in done)


def test_one_checkpoint(bench: Bench) -> None:
    command = c.Save("run", new_checkpoint(thread="run"))
    answers = at_once(bench, lambda _: command)
    assert answers == [answers[0]] * MANY
    assert len(bench.line("run")) == 1


def test_many_checkpoints_are_one_chain(bench: Bench) -> None:
    commits = at_once(bench, lambda n: c.Save("run", new_checkpoint(n, thread="run")))
    assert sorted(commit.step_index for commit in commits) == list(range(MANY))
    line = bench.line("run")
    parents = [row.commit.split()[1] for row in line]
    assert parents == [row.id for row in line[1:]] + ["-"]


def test_many_saves_on_one_parent(bench: Bench) -> None:
    parent = bench.save(None, thread="run")
    answers = at_once(bench, lambda n: c.Save("run", new_checkpoint(n, thread="run"), parent=parent))
    assert [isinstance(answer, bp.Conflict) for answer in answers].count(False) == 1


def test_many_reaps(bench: Bench) -> None:
    for _ in range(MANY):
        bench.start(lease=1)
    bench.clock.advance(1)
    answers = at_once(bench, lambda _: c.Reap(limit=3))
    assert sum(answer.moved for answer in answers) == MANY
    assert [row.crashes for row in bench.do(c.ListJobs())] == [1] * MANY
