"""A server of a cluster that takes over with its clock behind, and without the last events of its partitions."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.names import home
from tests.harness.cluster import Cluster

pytestmark = [
    pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore"),
    pytest.mark.timeout(90),
]
COUNT, MINUTE = 16, 60_000


class Partition:
    """The events of a thread's partition, where a test puts some of its own: a minute ahead, so that the clock of the
    server is behind them."""

    def __init__(self, cluster: Cluster, namespace: str, thread: str, now: int) -> None:
        self.number = home(thread) % COUNT
        self._server = cluster.plain
        self._key = f"bp:{{{namespace}:{self.number}}}:events"
        self._kept = self._server.dump(self._key)
        self._ahead = now + MINUTE

    def lose(self) -> None:
        """Forget what came since this was made."""
        self._server.restore(self._key, 0, self._kept, replace=True)

    def write(self, kind: str, *places: int) -> list[str]:
        event = {"type": f"batonpass.checkpoint.{kind}", "subject": "t"}
        made = [self._server.xadd(self._key, event, id=f"{self._ahead + each}-0").decode() for each in places]
        return [f"{self.number}.{each}" for each in made]


@pytest.mark.parametrize("which", [{}, {"types": "checkpoint.*"}], ids=["all", "a type"])
def test_what_it_writes_before_that_is_noticed_comes_once(
    three_nodes: Cluster, cluster_url: str, which: dict[str, Any]
) -> None:
    """And so does what is written elsewhere, before and after."""
    namespace = cluster_url.partition("=")[2]
    with bp.connect(cluster_url) as coordinator:
        for thread in ("t", "other"):
            coordinator.save(thread=thread, agent="a", state=1)
        now = int(three_nodes.nodes[0].ask("TIME")[0]) * 1000
        there, elsewhere = (Partition(three_nodes, namespace, each, now) for each in ("t", "other"))
        assert there.number != elsewhere.number
        lost = there.write("lost", 1, 3, 5)
        elsewhere.write("elsewhere", 6, 7)
        follower = coordinator.events(follow=True, **which)
        found = [next(follower).id for _ in range(7)]
        there.lose()
        early = there.write("early", 2, 3, 4)
        elsewhere.write("elsewhere", 8, 9)
        coordinator.save(thread="t", agent="a", state=2)
        found.append(next(follower).id)
        kept = [event.id for event in coordinator.events(**which)]
        found += [next(follower).id for _ in range(len(kept) + len(lost) - len(found))]
        assert sorted(found) == sorted([*kept, *lost])
        assert set(early) <= set(found)
        last = coordinator.save(thread="t", agent="a", state=3)
        assert next(follower).data["checkpoint"] == last.id
