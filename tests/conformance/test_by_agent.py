"""How many jobs of each kind the agents have: who is on call for an agent wants no other's alerts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from batonpass.contracts.names import mint
from batonpass.coordinator import checkup
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, new_target


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
        "limited": {},
    }


@pytest.mark.one_partition
@pytest.mark.parametrize("limits", [{"concurrency": 1}, {"count": 1, "per": MINUTE}], ids=["at once", "in a time"])
def test_those_that_wait_for_others(limits: Any, bench: Bench) -> None:
    """An agent whose only running job hangs has a backlog, and none of it is ready."""
    for agent, keys in (("write", "aab"), ("review", "c")):
        queue = new_target(agent).queue
        for key in keys * 2:
            job = mint("j")
            bench.do(c.Submit(job, job, replace(new_target(agent), lane=key * 32)))
        bounds = {queue: c.Limits("d" * 32, **limits)}
        while bench.do(c.Claim("w", ((queue, MINUTE),), (mint("l"),), bounds)):
            pass
    shares = by_agent(bench)
    assert shares["running"] == {"write": 2, "review": 1}
    assert shares["limited"] == {"write": 4, "review": 1}


@pytest.mark.one_partition
def test_of_millions_not_all_are_looked_at(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """But all are counted."""
    monkeypatch.setattr(checkup, "SHARED_OUT", 2)
    for _ in range(3):
        bench.do(c.Fail(bench.start(), "boom", "attempts"))
    assert by_agent(bench)["dead"] == {"write": 2, "": 1}
