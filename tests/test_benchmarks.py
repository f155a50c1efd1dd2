"""The benchmarks run and print. What they measure is not tested here: that needs a quiet machine."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import BENCHMARKS, main


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
            assert result["ratio"] >= 0
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
