"""A child of a fork has the locks that its parent's threads held, and the parent's connections, and uses neither."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from batonpass.coordinator.bell import Bell
from batonpass.coordinator.lifetime import Lifetime
from batonpass.coordinator.parts.bases import Bases
from batonpass.coordinator.redis.cluster_link import ClusterLink
from batonpass.coordinator.redis.store import RedisStore


def ended(child: Callable[[], bool]) -> bool:
    """Whether a child of this process finds that right."""
    process = os.fork()
    if process == 0:
        try:
            os._exit(0 if child() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (Bell, "_changed"),
        (Lifetime, "_alone"),
        (Bases, "_lock"),
        (lambda: ClusterLink("redis+cluster://127.0.0.1:1"), "_making"),
    ],
    ids=["bell", "lifetime", "bases", "cluster"],
)
def test_a_lock_that_is_held_is_free_in_a_child(make: Callable[[], Any], name: str) -> None:
    thing = make()
    with getattr(thing, name):
        assert ended(lambda: bool(getattr(thing, name).acquire(False)))


def test_a_connection_that_is_idle_is_not_a_childs(redis_server: str) -> None:
    """From its beginning on, so that no thread of it can take what another one has just put there."""
    store = RedisStore(redis_server, "default")
    store.open()
    try:
        store._connections.ask("PING")
        assert len(store._connections._idle) == 1
        assert ended(lambda: not store._connections._idle and store._connections.ask("PING") == b"PONG")
        assert store._connections.ask("PING") == b"PONG"
        assert len(store._connections._idle) == 1
    finally:
        store.close()
