"""kill -9 of the process that runs a graph: what a finished node wrote is there, and the node does not run again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, StateGraph

from batonpass.adapters.langgraph import BatonpassSaver
from tests.harness.waiting import wait_until

from .graphs import Trace

pytestmark = pytest.mark.capability("langgraph")

_NODES = ["first", "quick", "slow", "last"]


def noted(log: Path) -> list[str]:
    """The nodes that ran, each as often as it did."""
    return log.read_text().split() if log.exists() else []


def graph(saver: BatonpassSaver, log: Path, stop_in: str) -> Any:
    """first, then quick and slow at once, then last. Each says that it ran; the one named never ends."""

    def node(name: str) -> Any:
        def run(_: Trace) -> Trace:
            with log.open("a") as file:
                file.write(f"{name}\n")
                file.flush()
                os.fsync(file.fileno())
            while name == stop_in:
                time.sleep(1)
            return {"trace": [name]}

        return run

    made: Any = StateGraph(Trace)
    for name in _NODES:
        made.add_node(name, node(name))
    made.add_edge(START, "first")
    made.add_edge("first", "quick")
    made.add_edge("first", "slow")
    made.add_edge(["quick", "slow"], "last")
    return made.compile(checkpointer=saver)


_CHILD = f"""
import asyncio, sys
from pathlib import Path
from batonpass.adapters.langgraph import BatonpassSaver
from {__name__} import graph
url, log, stop_in, side, durability = sys.argv[1:]
made = graph(BatonpassSaver.from_url(url), Path(log), stop_in)
config = {{"configurable": {{"thread_id": "killed"}}}}
if side == "sync":
    made.invoke({{"trace": ["in"]}}, config, durability=durability)
else:
    asyncio.run(made.ainvoke({{"trace": ["in"]}}, config, durability=durability))
"""


@pytest.mark.parametrize("side", ["sync", "async"])
@pytest.mark.parametrize("stop_in", ["first", "slow", "last"])
def test_no_finished_node_runs_again(stop_in: str, side: str, shared_url: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    saver = BatonpassSaver.from_url(shared_url)
    made = graph(saver, log, "")
    config: Any = {"configurable": {"thread_id": "killed"}}

    def finished() -> list[str]:
        state = made.get_state(config)
        return [*state.values.get("trace", []), *(task.name for task in state.tasks if task.result)]

    command = [sys.executable, "-c", _CHILD, shared_url, str(log), stop_in, side, "sync"]
    with subprocess.Popen(command) as child:
        try:
            wait_until(lambda: stop_in in noted(log), timeout=60)
            if stop_in == "slow":
                wait_until(lambda: "quick" in finished(), what="what the quick node wrote")
        finally:
            child.kill()
    done = [name for name in finished() if name != "in"]
    assert made.invoke(None, config)["trace"] == ["in", *_NODES]
    ran = noted(log)
    assert [ran.count(name) for name in _NODES] == [1 + (name == stop_in) for name in _NODES]
    assert stop_in not in done
    saver.close()
