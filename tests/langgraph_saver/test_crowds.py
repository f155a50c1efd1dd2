"""Many at once: processes that write one thread, and threads that run side by side."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph import END, START, StateGraph

from batonpass.adapters.langgraph import BatonpassSaver

from .graphs import Trace

pytestmark = [pytest.mark.capability("langgraph"), pytest.mark.each_store]

_PROCESSES, _RUNS, _THREADS = 20, 3, 200


def graph(saver: BatonpassSaver) -> Any:
    """Two nodes, one after the other."""
    made: Any = StateGraph(Trace)
    made.add_node("one", lambda _: {"trace": ["one"]})
    made.add_node("two", lambda _: {"trace": ["two"]})
    made.add_edge(START, "one")
    made.add_edge("one", "two")
    made.add_edge("two", END)
    return made.compile(checkpointer=saver)


# Forked, since each would take seconds to import LangGraph. Frozen, so that its garbage collections copy nothing.
_PARENT = f"""
import gc, os, sys, traceback
import batonpass.coordinator.redis.store, batonpass.coordinator.sqlite.store
from batonpass.adapters.langgraph import BatonpassSaver
from {__name__} import graph

def run():
    made = graph(BatonpassSaver.from_url(sys.argv[1], on_conflict="allow"))
    for _ in range({_RUNS}):
        made.invoke({{"trace": ["in"]}}, {{"configurable": {{"thread_id": "one"}}}})

gc.freeze()
children = []
for _ in range({_PROCESSES}):
    children.append(os.fork())
    if not children[-1]:
        try:
            run()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))
"""


@pytest.mark.timeout(240)
def test_processes_on_one_thread(shared_url: str) -> None:
    """No error reaches them, nothing is lost, and each checkpoint continues one that is there."""
    ran = subprocess.run([sys.executable, "-c", _PARENT, shared_url], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr[-2000:]) == (0, "")
    with BatonpassSaver.from_url(shared_url) as saver:
        found = list(saver.list({"configurable": {"thread_id": "one"}}))
    assert len(found) == _PROCESSES * _RUNS * 4
    check_chain(found)


@pytest.mark.timeout(240)
async def test_threads_at_once(shared_url: str) -> None:
    async with BatonpassSaver.from_url(shared_url) as saver:
        made = graph(saver)
        configs: list[Any] = [{"configurable": {"thread_id": f"t{number}"}} for number in range(_THREADS)]
        ended = await asyncio.gather(*(made.ainvoke({"trace": ["in"]}, config) for config in configs))
        assert all(state["trace"] == ["in", "one", "two"] for state in ended)
        for config in configs[::20]:
            found = [each async for each in saver.alist(config)]
            assert len(found) == 4
            check_chain(found)


def check_chain(found: list[CheckpointTuple]) -> None:
    """Every parent is there, and its state is what its child's begins with."""
    by_id = {each.checkpoint["id"]: each for each in found}
    for each in found:
        if each.parent_config is not None:
            parent = by_id[each.parent_config.get("configurable", {})["checkpoint_id"]]
            before = parent.checkpoint["channel_values"].get("trace", [])
            assert each.checkpoint["channel_values"].get("trace", [])[: len(before)] == before
