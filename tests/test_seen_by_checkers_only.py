"""Annotations may name what only type checkers see: as texts, and since Python 3.14 as they are."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

import batonpass as bp

_FUTURE = "" if sys.version_info >= (3, 14) else "from __future__ import annotations\n"
_APP = """
from typing import TYPE_CHECKING
import batonpass as bp

if TYPE_CHECKING:
    from nowhere import Seen

class Node(bp.Contract, name="checkers.node"):
    text: str = ""
    children: list[Node] = []
    leaf: Leaf | None = None

class Leaf(bp.Contract, name="checkers.leaf"):
    number: int = 1

app = bp.App("checkers")

@app.agent("async", accepts=Node, returns=Node)
async def counts(node: Node, ctx: Seen) -> Seen:
    async def two() -> Seen:
        return 2
    return Node(text=str(await ctx.step("two", two)), children=[node])

@app.agent("sync", accepts=Node, returns=Node)
def adds(node: Node) -> Seen:
    return Node(leaf=Leaf(number=2))
"""
_GRAPH = """
from typing import TypedDict
from langgraph.graph import START, StateGraph

class Line(bp.Contract, name="checkers.line"):
    text: str

class Notes(TypedDict):
    text: str

class Lent(TypedDict, total=False):
    number: int
    more: Seen

@app.langgraph("graph", accepts=Line, returns=Line)
def graph(ctx: Seen) -> Seen:
    def first(state):
        return {"text": ctx.agent}
    made = StateGraph(Notes, context_schema=Lent)
    made.add_node("first", first)
    made.add_edge(START, "first")
    return made
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty module."""
    module = ModuleType("seen_by_checkers_only")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


async def _results(module: Any, code: str, name: str, *agents: str) -> list[Any]:
    exec(compile(_FUTURE + code, __file__, "exec", dont_inherit=True), module.__dict__)
    contract: Any = getattr(module, name)
    async with bp.connect("memory://") as coordinator, module.app.worker(coordinator):
        jobs = [await coordinator.submit(agent, contract(text="a"), returns=contract) for agent in agents]
        return [(await job.result(timeout=20)).model_dump(exclude_defaults=True) for job in jobs]


async def test_functions(made: Any) -> None:
    assert await _results(made, _APP, "Node", "async", "sync") == [
        {"text": "2", "children": [{"text": "a"}]},
        {"leaf": {"number": 2}},
    ]


@pytest.mark.capability("langgraph")
async def test_a_graph(made: Any) -> None:
    assert await _results(made, _APP + _GRAPH, "Line", "graph") == [{"text": "graph"}]
