"""Sentinels that ask for a password: the error says how to give it."""

from __future__ import annotations

from pathlib import Path

import pytest

import batonpass as bp
from tests.harness.failover import SERVICE, SentinelServer
from tests.harness.redis import RedisServer

pytestmark = pytest.mark.capability("redis-sentinel")


def test_a_sentinel_with_a_password(own_redis: RedisServer, tmp_path: Path) -> None:
    sentinel = SentinelServer(tmp_path, own_redis)
    sentinel.start()
    try:
        with sentinel.client() as client:
            client.execute_command("ACL SETUSER", "default", "resetpass", ">let me in")
        url = f"redis+sentinel://127.0.0.1:{sentinel.port}"
        with pytest.raises(bp.BatonpassError, match=r"a Sentinel of .* its password with \?sentinel_password="):
            bp.connect(f"{url}/{SERVICE}").__enter__()
        with pytest.raises(bp.Unreachable, match="or watch no service of that name"):
            bp.connect(f"{url}/nosuch?sentinel_password=let%20me%20in").__enter__()
        with bp.connect(f"{url}/{SERVICE}?sentinel_password=let%20me%20in") as coordinator:
            assert coordinator.threads() == []
    finally:
        sentinel.kill()
