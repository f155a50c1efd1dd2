"""The benchmarks of the saver run and print. What they measure is not tested."""

from __future__ import annotations

import json

import pytest

from benchmarks.langgraph_saver.__main__ import BENCHMARKS, main


@pytest.mark.parametrize("name", BENCHMARKS)
def test_it_runs_and_prints(
    name: str, redis_server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BATONPASS_TEST_REDIS_URL", redis_server)
    main(["--quick", "--json", "--only", name])
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert results
    assert all(result["ratio"] > 0 for result in results)
