"""SIGKILL at step boundaries of every construct of every adapter: nothing is lost, nothing finished runs again.

Each construct is killed once in a piece of work, once before and once after a write, by turns on each store: `sample`
says where. `make storm` tries every point on every store. What ran how often is told by the external log.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .harness import Zygote
from .matrix import APPS, CONSTRUCTS, kills, module_of, sample

SORTS = 3


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("kind", "agent"),
    [
        pytest.param(kind, agent, marks=[pytest.mark.capability(kind)] if kind != "function" else [])
        for kind, agent in CONSTRUCTS
    ],
)
def test_killed_at_boundaries(
    kind: str, agent: str, zygote: Zygote, new_url: Callable[[str], str], tmp_path: Path
) -> None:
    count, problems = kills(kind, agent, zygote, new_url, tmp_path, sampled=True)
    assert not problems, "\n".join(problems)
    assert count == SORTS
    module = module_of(kind, agent)
    assert set(module.INPUT) == set(APPS[kind][module.__name__]), "a construct is left out"


def test_a_sample_is_spread_and_has_every_sort() -> None:
    points = [f"{sort}:{n}" for n in range(1, 9) for sort in ("in", "before", "after")]
    tried = [sample(points, turn) for turn in range(4)]
    assert [[point.partition(":")[0] for point in some] for some in tried] == [["in", "before", "after"]] * 4
    for places in zip(*tried, strict=True):
        assert sorted(int(point.partition(":")[2]) for point in places) == [2, 4, 6, 8]
    assert sample(["in:a", "before:1", "after:1"], 3) == ["in:a", "before:1", "after:1"]
