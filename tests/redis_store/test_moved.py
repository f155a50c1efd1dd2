"""A namespace with the mark of a repartition: nothing is written to it, and whoever opens it is told where to go."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis import scripts
from tests.harness.bench import Bench, new_job
from tests.harness.stores import RedisHarness
from tests.test_lua_headers import SAMPLES


@pytest.fixture
def harness(redis_server: str) -> Iterator[RedisHarness]:
    made = RedisHarness(redis_server)
    yield made
    made.close()


def test_no_command_is_carried_out(harness: RedisHarness) -> None:
    """Also of handles that were open before: each script looks by itself."""
    with Bench(harness, side="sync") as bench:
        bench.do(new_job())
        harness.server.set(f"{harness.store().prefix}moved", "moving 1a2b redis://elsewhere?namespace=new")
        for sample in SAMPLES:
            with bench.refused(bp.BadSetup, "is being moved to redis://elsewhere"):
                bench.do(sample)


async def test_ends_that_are_asked_together_are_all_refused(harness: RedisHarness) -> None:
    store = harness.store()
    await store.aopen()
    await store.acall(c.ListJobs())
    harness.server.set(f"{store.prefix}moved", "moved 1a2b redis://elsewhere?namespace=new")
    ends = [store.acall(c.Complete(c.Fence(mint("j"), 1, mint("l")), b"")) for _ in range(3)]
    with anyio.fail_after(10):
        outcomes = await asyncio.gather(*ends, return_exceptions=True)
    assert [isinstance(outcome, bp.BadSetup) for outcome in outcomes] == [True] * 3
    await store.aclose()


def test_scripts_that_do_not_look_are_few() -> None:
    """Those of partitions only change wake-ups, if anything. The others belong to the repartition, or are the
    witness, or change nothing."""
    reading = {"XLEN", "XRANGE", "ZRANGEBYSCORE", "EXISTS", "HEXISTS", "HMGET"}
    writing = {"store/ready": {"DEL"}, "store/ring": {"ZINCRBY", "PEXPIRE"}, "store/rights": set[str]()}
    assert {*writing, "store/fill", "store/mark", "store/witness", "store/workers"} == scripts.UNASKED
    for name, known in writing.items():
        source = Path(scripts.__file__).with_name("lua").joinpath(f"{name}.lua").read_text()
        assert set(re.findall(r"call\('(\w+)'", source)) - reading == known


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("moving 1a2b redis://new?namespace=b", "is being moved to redis://new.namespace=b: stop"),
        ("filling 1a2b redis://old?namespace=a", "is being filled from redis://old.namespace=a: wait"),
        ("moved 1a2b redis://new?namespace=b", "was moved to redis://new.namespace=b: use that"),
    ],
)
def test_it_is_not_opened(harness: RedisHarness, mark: str, told: str) -> None:
    store: Any = harness.store()
    harness.server.set(f"{store.prefix}moved", mark)
    before = harness.dump()
    with pytest.raises(bp.BadSetup, match=told):
        store.open()
    store.close()
    assert harness.dump() == before


def test_a_single_server_does_not_show_a_part_of_a_namespace(harness: RedisHarness) -> None:
    """It may have been restored from a cluster's backup."""
    store = harness.store()
    harness.server.set(f"{store.prefix}partitions", 16)
    with pytest.raises(bp.BadSetup, match=r"has 16 partitions, which redis\+cluster:// alone can use"):
        store.open()
    store.close()
