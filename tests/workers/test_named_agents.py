"""A worker imports the frameworks of the agents that it serves, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

import batonpass as bp

from .agents import Done, Task, app
from .processes import Desk


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("agents", "imported"), [("modules", []), ("modules,graph", ["langgraph"])])
def test_only_the_named_agents_frameworks_are_imported(
    agents: str, imported: list[str], sqlite_url: str, tmp_path: Path
) -> None:
    desk = Desk(sqlite_url, tmp_path)
    try:
        desk.serving(agents)
        with bp.connect(sqlite_url, app=app) as coordinator:
            for agent in agents.split(","):
                job = coordinator.submit(agent, Task(text="", seconds=0), returns=Done)
                assert job.result(timeout=40).words == imported, desk.said()
    finally:
        desk.close()


@pytest.mark.timeout(240)
def test_a_worker_leaves_other_agents_jobs_alone(sqlite_url: str, tmp_path: Path) -> None:
    desk = Desk(sqlite_url, tmp_path)
    try:
        desk.serving("modules")
        with bp.connect(sqlite_url, app=app) as coordinator:
            other = coordinator.submit("blocks-thread", Task(text="other"))
            assert coordinator.submit("modules", Task(), returns=Done).result(timeout=40).words == []
            with pytest.raises(bp.ResultTimeout, match="no live worker accepts it"):
                other.result(timeout=0)
        assert desk.ran() == {}
    finally:
        desk.close()
