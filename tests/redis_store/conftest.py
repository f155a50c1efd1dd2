"""What these tests share: a store on the session's Redis."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.bench import Bench
from tests.harness.stores import RedisHarness


@pytest.fixture
def bench(redis_server: str) -> Iterator[Bench]:
    """The store, opened, from sync code. Its namespaces are the test's own."""
    harness = RedisHarness(redis_server)
    with Bench(harness, side="sync") as made:
        yield made
    harness.close()
