"""One store, used by several event loops: at the same time, each in a thread of its own, and one after the other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.store import Store
from tests.harness.bench import MINUTE, Bench, fence_of, new_checkpoint, new_job

_ROUNDS, _AT_ONCE = 4, 8


async def _live(store: Store, agent: str) -> str:
    job = new_job(agent)
    assert (await store.acall(job)).id == job.job_id
    claim = c.Claim("w", ((job.target.queue, MINUTE),), (mint("l"),))
    while not (claimed := await store.acall(claim)):
        pass  # on a cluster, others may have taken all that it saw, while more came
    fence = fence_of(claimed[0])
    saved = new_checkpoint("x" * 2000, thread=fence.job_id)
    await store.acall(c.Save(fence.job_id, saved, fence))
    found = await store.acall(c.Restore(saved.id))
    assert found.id == saved.id
    await store.acall(c.Complete(fence, fence.job_id.encode()))
    return fence.job_id


async def _lives(store: Store, agent: str) -> list[str]:
    done: list[str] = []
    async with asyncio.timeout(30):
        for _ in range(_ROUNDS):
            done += await asyncio.gather(*(_live(store, agent) for _ in range(_AT_ONCE)))
    return done


def _in_threads(work: Callable[[int], Coroutine[Any, Any, Any]]) -> None:
    """Two of them, each in a thread with a loop of its own, as `asyncio.run` makes it."""
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            asyncio.run(work(number))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_loops_in_threads_do_not_disturb_each_other(bench: Bench) -> None:
    """No call is dropped, gets another one's answer, or waits for another loop."""
    done: list[str] = []

    async def work(number: int) -> None:
        done.extend(await _lives(bench.store, f"agent {number}"))

    _in_threads(work)
    assert len(set(done)) == len(done) == 2 * _ROUNDS * _AT_ONCE
    assert {bench.job(job_id).result.decode() for job_id in done} == set(done)


def test_a_loop_that_ended_leaves_nothing_to_the_next_one(bench: Bench) -> None:
    for number in range(3):
        done = asyncio.run(_lives(bench.store, f"agent {number}"))
        assert len(set(done)) == _ROUNDS * _AT_ONCE


def test_a_store_is_closed_in_one_loop_while_another_one_has_used_it(bench: Bench) -> None:
    used, closed = threading.Event(), threading.Event()
    with bench.beside() as other:

        async def work(number: int) -> None:
            if number == 0:
                assert await _lives(other.store, "agent")
                used.set()
                assert await asyncio.to_thread(closed.wait, 20)
            else:
                assert await asyncio.to_thread(used.wait, 20)
                await other.store.aclose()
                closed.set()

        _in_threads(work)
