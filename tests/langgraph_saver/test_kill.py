"""kill -9 of the process that runs a graph: what a finished node wrote is there, and the node does not run again.

For each way to run a graph a sample of the points; `make storm` tries all of them on both stores.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from tests.kills.matrix import STORES

from .kills import warm
from .matrix import WAYS, kills

pytestmark = [pytest.mark.capability("langgraph"), pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    return warm()


@pytest.mark.parametrize("turn", range(len(WAYS)), ids=["-".join(way) for way in WAYS])
def test_no_finished_node_runs_again(
    turn: int, new_url: Callable[[str], str], tmp_path: Path, processes: ForkServerContext
) -> None:
    store = STORES[turn % 2]
    count, problems = kills(processes, WAYS[turn], lambda: new_url(store), tmp_path, turn)
    assert not problems, "\n".join(problems)
    assert count == 3
