"""A job that waits in the middle of a superstep, in a part or at a breakpoint while its graph is deployed with a node
renamed: it is parked if LangGraph would leave work out or do it again, and goes on if not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.channels import EphemeralValue, LastValue
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.types import Command, Send, interrupt

import batonpass as bp
from batonpass.testing import serving

from ..apps.kit import question
from ..apps.langgraph_app import Notes, Topic, Words
from ..apps.langgraph_kit import only

pytestmark = pytest.mark.capability("langgraph")

RAN: Counter[str] = Counter()
NAMES: list[str] = []


def c() -> str:
    """The name of the node that is renamed."""
    return NAMES[-1]


def does(name: str, *, asks: bool = False, to: str = "", out: bool = False) -> Any:
    """A node that notes its name. It may ask, go to another node, or leave its part for another node."""

    def run(state: Any) -> Any:
        RAN[name] += 1
        if asks:
            interrupt("go on?")
        notes = {"notes": [name]}
        return Command(graph=Command.PARENT if out else None, goto=to, update=notes) if to else notes

    return run


def graph(edges: list[tuple[Any, str]], defer: str = "", **nodes: Any) -> Any:
    """Nodes by name. The one that is renamed was `c`."""
    made = StateGraph(Words)
    for name, run in nodes.items():
        made.add_node(real(name), run, defer=defer == name, destinations=() if name == "part" else None)
    for before, after in edges:
        made.add_edge([real(each) for each in before] if isinstance(before, list) else real(before), real(after))
    return made


def real(name: str) -> str:
    return c() if name == "c" else name


def beside(**a: Any) -> Any:
    """`a` has ended, and `b` beside it asks."""
    return graph([(START, "a"), (START, "b")], b=does("b", asks=True), c=does("c"), **a)


def by_an_edge() -> Any:
    made = beside(a=does("a"))
    made.add_edge("a", c())
    return made


def by_a_condition() -> Any:
    made = beside(a=does("a"))
    made.add_conditional_edges("a", lambda _: c())
    return made


def by_sending() -> Any:
    made = beside(a=does("a"))
    made.add_conditional_edges("a", lambda state: [Send(c(), state)])
    return made


def by_a_command() -> Any:
    return beside(a=does("a", to=c()))


def out_of_a_part() -> Any:
    part = graph([(START, "in")], **{"in": does("in", to=c(), out=True)})
    return beside(a=part.compile())


def by_a_join() -> Any:
    made = beside(a=does("a"))
    made.add_edge(["a", "b"], c())
    return made


def by_a_deferred_join() -> Any:
    made = graph([(START, "a"), (START, "b")], defer="c", a=does("a"), b=does("b", asks=True), c=does("c"))
    made.add_edge(["a", "b"], c())
    return made


def longer(join: list[str]) -> Any:
    """`a` ended a superstep ago, `b` asks, and `c` comes after it."""
    edges: list[tuple[Any, str]] = [(START, "a"), (START, "x"), ("x", "b"), ("b", "c"), (join, "last")]
    return graph(edges, a=does("a"), x=does("x"), b=does("b", asks=True), c=does("c"), last=does("last"))


def joined_by_it() -> Any:
    return longer(["a", "c"])


def joined_by_others() -> Any:
    return longer(["a", "b"] if c() == "c" else ["b", "a"])


def at_the_entry() -> Any:
    made = graph([], c=does("c", asks=True))
    made.add_conditional_edges(START, lambda _: c())
    return made


def at_a_breakpoint() -> Any:
    return graph([(START, "a"), ("a", "c")], a=does("a"), c=does("c")).compile(interrupt_before=[c()])


def after_a_breakpoint() -> Any:
    return graph([(START, "a"), ("a", "c")], a=does("a"), c=does("c")).compile(interrupt_after=["a"])


def in_a_part() -> Any:
    part = graph([(START, "x"), ("x", "c")], x=does("x"), c=does("c", asks=True))
    return graph([(START, "part")], part=part.compile())


def in_a_part_that_keeps_its_state() -> Any:
    part = graph([(START, "x"), ("x", "c")], x=does("x"), c=does("c", asks=True))
    return graph([(START, "part")], part=part.compile(checkpointer=True))


def left_before(**options: Any) -> Any:
    """The part was left in its middle, a superstep ago."""
    part = graph([(START, "c")], c=does("c", to="next", out=True))
    return graph([(START, "part")], part=part.compile(**options), next=does("next", asks=True))


def left_before_keeping() -> Any:
    return left_before(checkpointer=True)


def left_beside(**options: Any) -> Any:
    """The part was left in its middle, in the superstep that is not over."""
    part = graph([(START, "c")], c=does("c", to="next", out=True))
    return graph(
        [(START, "part"), (START, "b")], part=part.compile(**options), b=does("b", asks=True), next=does("next")
    )


def left_beside_keeping() -> Any:
    return left_beside(checkpointer=True)


def done() -> Any:
    return graph([(START, "c"), ("c", "b")], c=does("c"), b=does("b", asks=True))


def later() -> Any:
    return graph([(START, "b"), ("b", "c")], c=does("c"), b=does("b", asks=True))


def functional() -> Any:
    @task
    def one() -> str:
        RAN["one"] += 1
        return "one"

    def flow(_: Any) -> Notes:
        return Notes(notes=[one().result(), interrupt("go on?")])

    flow.__name__ = c()
    return entrypoint()(flow)


def by_hand(channel: Callable[[type[Any]], Any]) -> Any:
    one = NodeBuilder().subscribe_only("text").do(lambda _: "one").write_to("middle")
    two = NodeBuilder().subscribe_only("middle").do(lambda given: [given, interrupt("go on?")]).write_to("notes")
    return Pregel(
        nodes={"one": one, c(): two},
        channels={"text": channel(str), "middle": channel(str), "notes": LastValue(list[str])},
        input_channels=["text"],
        output_channels=["notes"],
    )


def pregel() -> Any:
    return by_hand(EphemeralValue)


def pregel_that_keeps() -> Any:
    return by_hand(LastValue)


LOST: dict[Callable[[], Any], str] = {
    by_an_edge: "node 'c'",
    by_a_condition: "node 'c'",
    by_sending: "node 'c'",
    by_a_command: "node 'c'",
    out_of_a_part: "node 'c'",
    by_a_join: "node 'c'",
    by_a_deferred_join: "node 'c'",
    joined_by_it: "node 'c'",
    joined_by_others: "the edge from a and b to last",
    at_the_entry: "node 'c'",
    at_a_breakpoint: "node 'c'",
    after_a_breakpoint: "node 'c'",
    in_a_part: "node 'part|c'",
    in_a_part_that_keeps_its_state: "node 'part|c'",
    functional: "node 'c'",
    pregel: "node 'c'",
    pregel_that_keeps: "node 'c'",
}
GOES_ON = [left_before, left_before_keeping, left_beside, left_beside_keeping, done, later]


@pytest.fixture(autouse=True)
def as_it_was() -> None:
    RAN.clear()
    NAMES[:] = ["c"]


@pytest.mark.parametrize("shape", LOST)
async def test_it_is_parked_and_goes_on_when_the_node_is_back(shape: Callable[[], Any]) -> None:
    async with serving(only(shape)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        await question(job)
        before = RAN.copy()
        NAMES.append("renamed")
        await job.answer("yes")
        with pytest.raises(bp.JobFailed) as failed:
            await job.result(timeout=60)
        assert f"continues at {LOST[shape]}, which the graph no longer has" in str(failed.value)
        assert before == RAN
        NAMES.pop()
        await coordinator.redrive(job.id)
        await job.result(timeout=60)
    assert RAN["c"] == before["c"] + ("c" in RAN)
    assert max(RAN["a"], RAN["one"]) <= 1


@pytest.mark.parametrize("shape", GOES_ON)
async def test_it_goes_on_where_nothing_is_lost(shape: Callable[[], Any]) -> None:
    async with serving(only(shape)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        await question(job)
        NAMES.append("renamed")
        await job.answer("yes")
        notes = (await job.result(timeout=60)).notes
    assert RAN["c"] == 1
    assert sorted(notes) == sorted({*RAN})
