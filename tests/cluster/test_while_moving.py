"""Two nodes each say that the other one has a slot, as they may for seconds while it moves and the nodes are busy."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable

import pytest

from batonpass.coordinator.redis.cluster_link import ClusterLink
from batonpass.coordinator.redis.cluster_pieces import Request
from tests.harness.cluster import Cluster

LASTS = 3.0  # seconds


async def _asked(link: ClusterLink, requests: list[Request]) -> list[object]:
    try:
        return await link.aexchange(link.here(), requests)
    finally:
        await link.aclose()


@pytest.mark.parametrize("more", [0, 1], ids=["alone", "among others"])
@pytest.mark.parametrize("side", ["sync", "async"])
def test_is_waited_for(three_nodes: Cluster, side: str, more: int) -> None:
    key = _alone(three_nodes)
    agree = _disagree(three_nodes, key)
    agreed = threading.Timer(LASTS, agree)
    agreed.start()
    link = ClusterLink(three_nodes.url)
    requests: list[Request] = [(key, ("SET", key, "x", "PX", "9000")), *[(key, ("EXISTS", key))] * more]
    if side == "sync":
        replies = link.exchange(requests)
        link.close()
    else:
        replies = asyncio.run(_asked(link, requests))
    agreed.join()
    assert replies[0] in (b"OK", True)
    assert replies[1:] == [1] * more


def _alone(cluster: Cluster) -> str:
    """A key in a slot that holds no others: one that does can't be given away like that."""
    with cluster.client() as client:
        while True:
            key = f"{{{secrets.token_hex(8)}}}"
            if cluster.owner(key).ask("CLUSTER COUNTKEYSINSLOT", client.keyslot(key)) == 0:
                return key


def _disagree(cluster: Cluster, key: str) -> Callable[[], None]:
    """The owner of a slot gives it to a node that does not know yet. Returns what tells that."""
    source = cluster.owner(key)
    target = next(node for node in cluster.primaries if node is not source)
    with cluster.client() as client:
        slot = client.keyslot(key)
    source.ask("CLUSTER SETSLOT", slot, "NODE", target.id)

    def agree() -> None:
        target.ask("CLUSTER SETSLOT", slot, "IMPORTING", source.id)
        target.ask("CLUSTER SETSLOT", slot, "NODE", target.id)

    return agree
