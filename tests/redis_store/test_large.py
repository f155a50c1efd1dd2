"""States that are too large for a script to return are read in a second step, whatever the first one was."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.store import RedisStore
from batonpass.coordinator.snapshots import open_checkpoint
from tests.harness.bench import Bench, new_target
from tests.harness.stores import RedisHarness

_STATE: dict[str, Any] = {"messages": [{"n": n, "text": f"{n}" * 300} for n in range(400)], "doc": "d" * 70_000}


@pytest.mark.parametrize("side", ["sync", "async"])
@pytest.mark.parametrize("looking", [False, True])
def test_a_large_state_comes_back_whole(redis_server: str, side: str, looking: bool) -> None:
    """Even when it is time to look at the store, which is done with the same call."""
    harness = RedisHarness(redis_server)
    with Bench(harness, side=side) as bench:
        face, store = bench.face(), bench.store
        assert isinstance(store, RedisStore)
        saved = bench.run(face.save(thread="run", agent="write", state=_STATE))
        for _ in range(3):
            if looking:
                store._dialogue.witness.hurry()
            assert bench.run(face.restore(saved.id)).state == _STATE
            if looking:
                store._dialogue.witness.hurry()
            assert bench.run(face.latest(thread="run")).state == _STATE
        job = bench.submit(origin=saved.id)
        if looking:
            store._dialogue.witness.hurry()
        claim = c.Claim("w", ((new_target().queue, 60_000),), (mint("l"),))
        [delivery] = bench.do(claim)
        assert (delivery.job.id, delivery.checkpoint is not None) == (job, True)
        assert delivery.checkpoint is not None
        assert open_checkpoint(delivery.checkpoint).state == _STATE
    harness.close()


async def _burst(url: str, prefix: str) -> None:
    async with bp.connect(url, namespace=prefix) as coordinator:
        saves = [coordinator.save(thread=f"t{n}", agent="write", state={"n": n}) for n in range(150)]
        await asyncio.gather(*saves)
        saved = await coordinator.save(thread="run", agent="write", state=_STATE)
        assert (await coordinator.restore(saved.id)).state == _STATE


def test_a_burst_of_calls_leaves_connections_for_the_rest(redis_server: str) -> None:
    harness = RedisHarness(redis_server)
    harness.store("burst")
    asyncio.run(_burst(redis_server, harness.own + "burst"))
    harness.close()


def test_a_large_state_that_is_gone_is_not_found(redis_server: str) -> None:
    harness = RedisHarness(redis_server)
    with Bench(harness, side="sync") as bench:
        face = bench.face()
        saved = face.save(thread="run", agent="write", state=_STATE)
        face.expire(saved.id)
        with pytest.raises(bp.NotFound):
            face.restore(saved.id)
    harness.close()
