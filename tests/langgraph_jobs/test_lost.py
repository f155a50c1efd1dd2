"""A job whose graph was deployed with other nodes since its last checkpoint: nothing that was to run is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

import batonpass as bp
from batonpass.testing import serving

from ..apps.langgraph_app import Topic, Words, in_order
from ..apps.langgraph_kit import only

pytestmark = pytest.mark.capability("langgraph")

Names = dict[str, str]
RAN: Counter[str] = Counter()
DOWN = [True]


def node(name: str) -> Any:
    def run(state: Any) -> Any:
        RAN[name] += 1
        if name != "a" and DOWN:
            raise OSError("the network is down")
        return {"notes": [name]}

    return run


def line(names: Names, *, b: str = "b", defer: bool = False) -> Any:
    made = StateGraph(Words)
    for name in ("a", "b", "c"):
        made.add_node(names.get(name, name), node(name), defer=defer and name == "b")
    made.add_edge(START, "a")
    made.add_edge("a", names.get("b", "b"))
    made.add_edge(names.get("b", "b"), "c")
    made.add_edge("c", END)
    return made


def deferred(names: Names) -> Any:
    return line(names, defer=True)


def sent(names: Names) -> Any:
    made = StateGraph(Words)
    made.add_node("a", node("a"))
    made.add_node(names.get("b", "b"), node("b"))
    made.add_edge(START, "a")
    made.add_conditional_edges("a", lambda state: [Send(names.get("b", "b"), state)])
    return made


def joined(names: Names) -> Any:
    made = StateGraph(Words)
    for name in ("a", "also"):
        made.add_node(name, node("a"))
        made.add_edge(START, name)
    made.add_node(names.get("b", "b"), node("b"))
    made.add_edge(["a", "also"], names.get("b", "b"))
    return made


def inner(names: Names) -> Any:
    return in_order({"part": line(names).compile()})


SHAPES: dict[str, tuple[Callable[[Names], Any], str, list[str]]] = {
    "line": (line, "'b'", ["a", "b", "c"]),
    "deferred": (deferred, "'b'", ["a", "b", "c"]),
    "sent": (sent, "'b'", ["a", "b"]),
    "joined": (joined, "'b'", ["a", "a", "b"]),
    "inner": (inner, "'part|b'", ["a", "b", "c"]),
}


def calling(names: Names) -> Any:
    """A node that runs two graphs, each with nodes of its own: LangGraph knows of one subgraph there."""
    made, first, second = StateGraph(Words), inner_of("first"), inner_of("second")

    def both(state: Any) -> Any:
        notes = first.invoke({"notes": []})["notes"]
        return {"notes": notes + second.invoke({"notes": []})["notes"]}

    def swapped(state: Any) -> Any:
        notes = second.invoke({"notes": []})["notes"]
        return {"notes": notes + first.invoke({"notes": []})["notes"]}

    for each in (both, swapped):
        made.add_node(each.__name__, each)
        made.add_edge(START, each.__name__)
    return made


def inner_of(name: str) -> Any:
    return in_order({f"{name} a": node("a"), f"{name} b": node("b")}).compile()


@pytest.mark.parametrize("shape", [*(each[0] for each in SHAPES.values()), calling])
async def test_a_graph_that_is_whole_goes_on(shape: Callable[[Names], Any]) -> None:
    DOWN[:] = [True]
    async with serving(only(lambda: shape({}))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        with pytest.raises(bp.JobFailed, match="network"):
            await job.result(timeout=60)
        DOWN.clear()
        await coordinator.redrive(job.id)
        assert "b" in (await job.result(timeout=60)).notes


@pytest.mark.parametrize("shape", SHAPES)
async def test_a_renamed_node_is_told(shape: str) -> None:
    make, lost, expected = SHAPES[shape]
    names: Names = {}

    def factory() -> Any:
        return make(names)

    RAN.clear()
    DOWN[:] = [True]
    async with serving(only(factory)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        with pytest.raises(bp.JobFailed, match="network"):
            await job.result(timeout=60)
        names["b"] = "renamed"
        DOWN.clear()
        await coordinator.redrive(job.id)
        with pytest.raises(bp.JobFailed) as failed:
            await job.result(timeout=60)
        assert f"continues at node {lost}, which the graph no longer has" in str(failed.value)
        names.clear()
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=60)).notes == expected
    assert RAN["a"] == expected.count("a")
