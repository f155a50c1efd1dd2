"""Whatever is done in whatever order, every store answers as the model (memory) does, and keeps the same."""

from __future__ import annotations

import pytest

from tests.capabilities import note
from tests.harness.ram import ram_folder
from tests.harness.redis import RedisServer
from tests.model.running import never_done, run_examples
from tests.model.stores import Stores


@pytest.mark.timeout(600)
def test_every_store_is_as_the_model(redis_server: str) -> None:
    note("sqlite")
    with ram_folder() as folder:
        tally = run_examples(Stores(folder, redis=redis_server), examples=300, steps=50, fixed=True)
    assert never_done(tally) == set()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("own_redis", ["valkey"], indirect=True)
def test_so_does_valkey(own_redis: RedisServer) -> None:
    with own_redis.client() as server:
        server.config_set("appendfsync", "no")
    run_examples(Stores(redis=own_redis.url), examples=40, steps=50, fixed=True)
