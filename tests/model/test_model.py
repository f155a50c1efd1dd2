"""Whatever is done in whatever order, every store answers as the model (memory) does, and keeps the same."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.capabilities import note
from tests.harness.ram import ram_folder
from tests.harness.redis import RedisServer
from tests.model.running import never_done, run_examples
from tests.model.stores import Stores

# In parts, which run side by side.
PARTS, EXAMPLES, STEPS = range(3), 100, 50


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", PARTS)
def test_every_store_is_as_the_model(part: int, redis_server: str) -> None:
    note("sqlite")
    with ram_folder() as folder:
        assert run_examples(Stores(folder, redis=redis_server), EXAMPLES, STEPS, fixed=part)


@pytest.mark.timeout(600)
def test_these_examples_carry_out_every_command() -> None:
    """Here on the model alone: the others do the same."""
    tally, parts = Counter[tuple[str, str]](), iter(PARTS)
    while missing := never_done(tally):
        part = next(parts, None)
        assert part is not None, missing
        tally += run_examples(Stores(), EXAMPLES, STEPS, fixed=part)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("own_redis", ["valkey"], indirect=True)
def test_so_does_valkey(own_redis: RedisServer) -> None:
    with own_redis.client() as server:
        server.config_set("appendfsync", "no")
    assert run_examples(Stores(redis=own_redis.url), examples=40, steps=STEPS, fixed=len(PARTS))
