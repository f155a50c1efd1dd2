"""The benchmarks run and print. What they measure is not tested here: that needs a quiet machine."""

from __future__ import annotations

import json
import math

import pytest
import redis

import batonpass as bp
from batonpass.coordinator.calls import drive
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.agents import app
from benchmarks.hand_off import BARE, Jobs
from benchmarks.timing import QUICK

from .harness.redis import RedisServer


@pytest.mark.parametrize("name", BENCHMARKS)
def test_it_runs_and_prints(
    name: str, redis_server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BATONPASS_TEST_REDIS_URL", redis_server)
    main(["--quick", "--json", "--only", name])
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert results
    for result in results:
        if result["ours"] is None:  # a ratio of sizes, or the work of something idle, which has no time
            assert math.isfinite(result["ratio"])  # the memory of a server may become less, for what others had there
            continue
        assert 0 <= result["ours"]["p50"] <= result["ours"]["p99"]
        assert result["ours"]["p50"] or "CPU" in result["what"]  # a quick run takes less CPU time than one tick
        assert (result["floor"] is None) == (result["ratio"] is None)


def test_the_table_names_what_was_measured_and_its_bar(
    redis_server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BATONPASS_TEST_REDIS_URL", redis_server)
    main(["--quick", "--only", "save-sqlite"])
    said = capsys.readouterr()
    assert "two inserts" in said.out
    assert "<= 2.5" in said.out
    assert "Redis" in said.err


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "nothing"])
    assert "save-redis" in capsys.readouterr().err


def test_the_bare_hand_off_has_the_commands_of_a_hand_off(own_redis: RedisServer) -> None:
    """Else what it takes would say nothing about how fast a hand off could be."""
    with bp.connect(own_redis.url, app=app) as coordinator, redis.Redis.from_url(own_redis.url) as client:
        jobs = Jobs(coordinator.store, QUICK)
        for number in range(2):  # the first one also tells the server the script
            client.config_resetstat()
            session, end = jobs.ended(number)
            session.write(drive(coordinator.store, end))
        handed_off = _calls(client)
        script = client.script_load(BARE)
        client.config_resetstat()
        client.evalsha(script, 1, "bare:", "job", b"state")
        assert _calls(client) == handed_off
    assert handed_off["xadd"] == 3


def _calls(client: redis.Redis) -> dict[str, int]:
    """How often each command ran since the statistics were reset."""
    told: dict[str, dict[str, int]] = client.info("commandstats")
    return {name.removeprefix("cmdstat_"): each["calls"] for name, each in told.items() if "config" not in name}
