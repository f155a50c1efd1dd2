"""Servers that these tests kill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.redis import RedisServer


@pytest.fixture
def durable_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that loses nothing when it is killed: it syncs before it answers.

    With `everysec` it holds writes back in memory while an fsync runs, for up to 2 s, and those die with it.
    """
    folder = tmp_path / "durable"
    folder.mkdir()
    server = RedisServer(folder, "--appendfsync", "always")
    server.start()
    yield server
    server.close()
