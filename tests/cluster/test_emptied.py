"""A cluster that loses everything under a live worker."""

from __future__ import annotations

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.redis.place import prefix_of
from batonpass.workers import upkeep
from tests.harness.cluster import Cluster
from tests.workers.serving import DEADLINE, Ask, Reply, only, serving


@pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore")
async def test_its_namespace_is_made_again_with_as_many_partitions(
    own_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the worker's URL does not say how many: what has it open goes on with those it knows."""
    monkeypatch.setattr(upkeep, "_DECLARED", 0.1)
    app = only(lambda ask: Reply(text=ask.text))
    prefixes = [prefix_of("default", at) for at in range(5)]
    async with bp.connect(f"{own_cluster.url}?partitions=5"), serving(app, own_cluster.url) as coordinator:
        before = [own_cluster.plain.get(f"{prefix}epoch") for prefix in prefixes]
        for node in own_cluster.primaries:
            node.ask("FLUSHALL")
        with anyio.fail_after(DEADLINE):
            while not all(own_cluster.plain.get(f"{prefix}schema") for prefix in prefixes):
                await anyio.sleep(0.01)
            while not all(after := [own_cluster.plain.get(f"{prefix}epoch") for prefix in prefixes]):
                await anyio.sleep(0.01)
        assert own_cluster.plain.get(f"{prefixes[0]}partitions") == b"5"
        assert not {*before} & {*after}
        job = await coordinator.submit("a", Ask(text="rain"), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == "rain"
