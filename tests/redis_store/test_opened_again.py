"""A connection that is opened once more: what was seen through it before is not forgotten."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import redis

import batonpass as bp
from batonpass.contracts.names import home
from batonpass.coordinator.safety import UnsafeStore
from tests.harness.cluster import Cluster

_BACK = "went back in time: event [0-9]+-[0-9]+, which it had, is gone"


class Saved:
    """A thread at a store, whose server can lose what was saved to it last."""

    def __init__(self, coordinator: bp.SyncCoordinator, server: Any) -> None:
        store: Any = coordinator.store
        prefix = store.prefix if isinstance(store.prefix, str) else store.prefix(home("t") % 16)
        self._coordinator, self._server = coordinator, server
        self._key = f"{prefix}events"
        coordinator.save(thread="t", agent="a", state=1)
        self._before = server.dump(self._key)

    def lose_one(self) -> None:
        """Save once more, look at it, and lose that."""
        self._coordinator.save(thread="t", agent="a", state=2)
        self.look()
        self._server.restore(self._key, 0, self._before, replace=True)

    def look(self) -> None:
        """Ask for something whose answer tells how far the store is."""
        list(self._coordinator.events())


@pytest.fixture(params=["redis", "cluster"])
def url(request: pytest.FixtureRequest) -> str:
    place: Any = request.getfixturevalue(f"{request.param}_place")
    return str(place())


@pytest.fixture
def server(url: str, redis_server: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Its server, or the cluster, for commands of the test's own."""
    if url.startswith("redis+cluster"):
        cluster: Cluster = request.getfixturevalue("three_nodes")
        yield cluster.plain
        return
    with redis.Redis.from_url(redis_server) as client:
        yield client


@pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore")
def test_what_the_store_has_lost_is_told_by_opening_it_again(url: str, server: Any) -> None:
    connection = bp.connect(url)
    with connection as coordinator:
        Saved(coordinator, server).lose_one()
    with pytest.warns(UnsafeStore, match=_BACK) as said:
        connection.open()
    assert len([each for each in said if "back in time" in str(each.message)]) == 1
    with connection as coordinator:
        told = [event.type for event in coordinator.events()]
    connection.close()
    assert told.count("batonpass.store.rewound") == 1


def test_a_store_that_has_lost_nothing_is_opened_again_in_silence(url: str, server: Any) -> None:
    connection = bp.connect(url)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with connection as coordinator:
            saved = Saved(coordinator, server)
            saved.look()
        for _ in range(2):
            with connection as again:
                again.save(thread="t", agent="a", state=3)
            with connection:
                saved.look()
    assert not [each for each in said if "back in time" in str(each.message)]
