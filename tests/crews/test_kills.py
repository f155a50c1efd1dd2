"""SIGKILL in the middle of tasks: a sample of the matrix that has every construct. `make storm` runs all of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crews.app import INPUT
from tests.crews.matrix import kills
from tests.kills.harness import Zygote

_SAMPLE = 4
# Each construct on one of the stores: what differs between stores is held together by the conformance tests.
CASES = [(agent, store) for agent, store in zip(INPUT, ["sqlite", "redis"] * len(INPUT), strict=False)]

pytestmark = pytest.mark.capability("crewai")


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("agent", "store"), CASES)
def test_a_killed_task_goes_on_in_its_middle(
    agent: str, store: str, crewai_zygote: Zygote, new_url: Callable[[str], str], tmp_path: Path
) -> None:
    count, problems = kills(agent, crewai_zygote, lambda: new_url(store), tmp_path, sample=_SAMPLE)
    assert count == _SAMPLE
    assert not problems, "\n".join(problems)
