"""A namespace with the mark of a repartition: nothing is written to it, and who opens it is told where to go."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.operations import READING
from batonpass.coordinator.redis import scripts, wire
from tests.harness.bench import Bench, new_job
from tests.harness.stores import RedisHarness
from tests.redis_store.needed import READING as READING_SCRIPTS
from tests.test_lua_headers import SAMPLES


@pytest.fixture
def harness(redis_server: str) -> Iterator[RedisHarness]:
    made = RedisHarness(redis_server)
    yield made
    made.close()


def test_nothing_is_written_by_any_command(harness: RedisHarness) -> None:
    """Also by handles that were open before: each script looks by itself."""
    with Bench(harness, side="sync") as bench:
        bench.do(new_job())
        mark = f"{harness.store().prefix}moved"
        harness.server.set(mark, "moving 1a2b redis://elsewhere?namespace=new")
        before = harness.dump()
        for sample in SAMPLES:
            if type(sample) not in READING:
                with pytest.raises(bp.BadSetup, match="is being moved to redis://elsewhere"):
                    bench.do(sample)
        assert harness.dump() == before
        assert bench.do(c.ListJobs(5, ""))


async def test_ends_that_are_asked_together_are_all_refused(harness: RedisHarness) -> None:
    store = harness.store()
    await store.aopen()
    await store.acall(c.ListJobs())
    harness.server.set(f"{store.prefix}moved", "moved 1a2b redis://elsewhere?namespace=new")
    ends = [store.acall(c.Complete(c.Fence(mint("j"), 1, mint("l")), b"")) for _ in range(3)]
    with anyio.fail_after(10):
        outcomes = await asyncio.gather(*ends, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [bp.BadSetup] * 3
    await store.aclose()


def test_scripts_that_only_read_are_known() -> None:
    """Any other one looks for the mark. The partitions' own scripts that are passed over write wake-ups at most."""
    own = {"store/above", "store/fill", "store/mark", "store/ready", "store/ring", "store/witness"}
    assert set(READING_SCRIPTS) | own == scripts.READING
    written = {wire.arguments(sample)[0] for sample in SAMPLES if type(sample) not in READING}
    assert all("P .. 'moved'" in scripts.script(name).source for name in {*written, "store/note"})


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
