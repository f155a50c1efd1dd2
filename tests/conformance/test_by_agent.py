"""How many jobs of each kind the agents have: who is on call for an agent wants no other's alerts."""

from __future__ import annotations

from typing import cast

import pytest

from batonpass.coordinator import checkup
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench


def by_agent(bench: Bench) -> checkup.Shares:
    return {kind: dict(shares) for kind, shares in cast("checkup.Examines", bench.store).by_agent().items()}


def test_each_kind(bench: Bench) -> None:
    assert by_agent(bench) == {kind: {} for kind in checkup.KINDS}
    for agent in ("write", "review", "write"):
        bench.do(c.Fail(bench.start(agent), "boom", "attempts"))
    bench.start("review")
    bench.do(c.Fail(bench.start("write"), "boom", "", MINUTE))
    bench.suspend(bench.start("a\0b"))
    assert by_agent(bench) == {
        "running": {"review": 1},
        "timed": {"write": 1},
        "asking": {"a\0b": 1},
        "dead": {"write": 2, "review": 1},
    }


@pytest.mark.one_partition
def test_of_millions_not_all_are_looked_at(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """But all are counted."""
    monkeypatch.setattr(checkup, "SHARED_OUT", 2)
    for _ in range(3):
        bench.do(c.Fail(bench.start(), "boom", "attempts"))
    assert by_agent(bench)["dead"] == {"write": 2, "": 1}
