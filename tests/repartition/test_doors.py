"""Stores behind Sentinels and TLS, and what a codec has encrypted, are moved as others are."""

from __future__ import annotations

from pathlib import Path

import pytest

import batonpass as bp
from tests.cli.commandline import CommandLine
from tests.harness.cluster import Cluster
from tests.harness.failover import failover
from tests.harness.redis import tls_binary
from tests.harness.tls import TlsServer
from tests.repartition.conftest import Desk, app, write

pytestmark = [
    pytest.mark.capability("redis-sentinel", "redis-tls"),
    pytest.mark.skipif(tls_binary() is None, reason="no redis-server with TLS at hand"),
    pytest.mark.filterwarnings("ignore::batonpass.coordinator.safety.UnsafeStore"),
]
_STATE = {"said": ["private words " * 100] * 8}


def test_from_a_sentinel_to_tls_to_a_cluster(
    tmp_path: Path, three_nodes: Cluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = CommandLine("memory://", capsys, monkeypatch)
    codec = bp.Codec(encrypt={"one": b"k" * 32}, compress=True)
    server = TlsServer(tmp_path)
    server.start()
    try:
        with failover(tmp_path) as trio:
            first = f"{trio.url}?namespace=desk"
            second = f"{server.verified_url}&namespace=desk"
            third = f"{three_nodes.url}?namespace={tmp_path.name}&partitions=2"
            with bp.connect(first, app=app, codec=codec) as coordinator:
                job = coordinator.submit(write, Desk(topic="private"), key="k").id
                saved = [coordinator.save(thread="talk", agent="write", state=_STATE).id for _ in range(2)]
            for source, target in ((first, second), (second, third)):
                ran = line("repartition", source, target)
                assert ran.code == 0, ran
                with pytest.raises(bp.BadSetup, match="was moved to"):
                    bp.connect(source).open()
                with bp.connect(target, app=app, codec=codec) as coordinator:
                    assert coordinator.submit(write, Desk(topic="private"), key="k").id == job
                    assert [row.id for row in coordinator.timeline(thread="talk")] == saved[::-1]
                    assert coordinator.restore(saved[0]).state == _STATE
                ran = line("repartition", source, target, "--drop-old")
                assert ran.code == 0, ran
    finally:
        server.close()
