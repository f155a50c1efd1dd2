"""What servers say about themselves in INFO: Redis, Valkey and managed ones. Only those at hand are really run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator.redis.server import check_server
from batonpass.coordinator.safety import UnsafeStore

DURABLE = {"aof_enabled": 1, "aof_last_write_status": "ok", "maxmemory": 0, "maxmemory_policy": "noeviction"}
REDIS_6 = {"redis_version": "6.2.14", "redis_mode": "standalone", "role": "master", **DURABLE}
REDIS_8 = {"redis_version": "8.0.1", "redis_mode": "standalone", "role": "master", **DURABLE}
VALKEY_7 = {"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "7.2.8", **DURABLE}
VALKEY_8 = {"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.1.0", **DURABLE}
# Managed servers leave fields out, and turn what they are not asked about into texts.
MANAGED = {"redis_version": "7.1", "aof_enabled": "1", "maxmemory": "0"}
STANDALONE = [REDIS_6, REDIS_8, VALKEY_7, VALKEY_8, MANAGED]


@pytest.mark.parametrize("info", STANDALONE)
def test_a_server_that_will_do(info: Mapping[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_server(info, b"1", "redis://x")


@pytest.mark.parametrize(
    ("info", "complaint"),
    [
        ({**REDIS_6, "redis_version": "6.0.16"}, "redis://x runs Redis 6.0.16: Batonpass needs 6.2 or newer"),
        ({**VALKEY_8, "valkey_version": "7.0.0"}, "redis://x runs Valkey 7.0.0: Batonpass needs 7.2 or newer"),
        ({}, "redis://x runs Redis 0: Batonpass needs 6.2"),
    ],
)
def test_a_server_that_is_too_old(info: Mapping[str, Any], complaint: str) -> None:
    with pytest.raises(bp.BadSetup, match=complaint):
        check_server(info, None, "redis://x")


@pytest.mark.parametrize(
    ("change", "danger"),
    [
        ({"aof_enabled": 0}, "has no append-only file"),
        ({"aof_last_write_status": "err"}, "can't write its append-only file"),
        ({"maxmemory": 1000, "maxmemory_policy": "allkeys-lru"}, "may evict jobs .*allkeys-lru"),
        ({"maxmemory": 1000, "maxmemory_policy": "volatile-ttl"}, "may evict jobs .*volatile-ttl"),
        ({"role": "slave"}, "is a replica, which accepts no writes"),
    ],
)
@pytest.mark.parametrize("info", [REDIS_6, VALKEY_8])
def test_a_danger_is_said(info: Mapping[str, Any], change: Mapping[str, Any], danger: str) -> None:
    with pytest.warns(UnsafeStore, match=f"redis://x {danger}"):
        check_server({**info, **change}, b"1", "redis://x")


@pytest.mark.parametrize("connected", [{}, {"connected_slaves": 0}, {"connected_slaves": 1}])
def test_replicas_that_are_asked_for(connected: Mapping[str, Any]) -> None:
    check_server({**REDIS_8, "connected_slaves": 2}, b"1", "redis://x", replicas=2)
    with pytest.raises(bp.BadSetup, match=r"has [01] replica\(s\), but \?replicas=2 asks that many"):
        check_server({**REDIS_8, **connected}, b"1", "redis://x", replicas=2)
