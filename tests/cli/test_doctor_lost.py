"""`batonpass doctor` tells of checkpoints that a server has evicted."""

from __future__ import annotations

import pytest
import redis

import batonpass as bp
from batonpass.coordinator.redis.place import prefix_of

from .commandline import CommandLine


def test_checkpoints_that_are_gone(
    redis_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = CommandLine(redis_url, capsys, monkeypatch)

    def told() -> list[str]:
        ran = run("doctor", "--json")
        assert ran.code == 0
        found = [each for each in ran.json["findings"] if each["about"] == "checkpoints"]
        assert all(each["level"] == "warn" for each in found)
        return [each["text"] for each in found]

    with bp.connect(redis_url) as coordinator:
        assert told() == []
        ids = [coordinator.save(thread="a", agent="a", state=number).id for number in range(3)]
        coordinator.save(thread="b", agent="a", state=1)
        assert told() == []
        address, _, namespace = redis_url.partition("?namespace=")
        with redis.Redis.from_url(address) as client:
            assert client.delete(*(f"{prefix_of(namespace, 0)}c:{id_}" for id_ in ids[1:])) == 2
        [text] = told()
        assert text.startswith(f"2 are listed, but gone, such as {ids[2]} of thread 'a': the server has evicted them")
        assert run("prune", "--keep-last", "5").out == "freed 2 checkpoints\n"
        assert told() == []
