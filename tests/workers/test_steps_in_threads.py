"""A plain `def` agent whose own threads call steps and effects side by side."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import batonpass as bp
from tests.workers.serving import DEADLINE, Ask, Reply, only, serving

pytestmark = pytest.mark.anyio
THREADS, CALLS = 8, 600


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    """Threads take turns five hundred times as often, so that what happens once in thousands of steps happens here."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.00001)
    yield
    sys.setswitchinterval(before)


async def test_each_is_done_once_and_none_fails_for_another(store_url: str) -> None:
    done = Counter[int]()

    def work(number: int) -> int:
        done[number] += 1
        return number

    def agent(ask: Ask, ctx: bp.SyncContext) -> Reply:
        def call(number: int) -> int:
            if number % 2:
                return ctx.effect(f"pay-{number}", work, number)
            return ctx.step("look", work, number, key=str(number))

        with ThreadPoolExecutor(THREADS) as pool:
            return Reply(text=str(sum(pool.map(call, range(CALLS)))))

    async with serving(only(agent, retries=1), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == str(sum(range(CALLS)))
    assert done == dict.fromkeys(range(CALLS), 1)
