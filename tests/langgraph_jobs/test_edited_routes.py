"""After an edit, a graph's edges decide anew only where they would have led to what is next without the edit."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from itertools import repeat
from typing import Annotated, Any, cast

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.managed import RemainingSteps
from langgraph.types import Command, Send

import batonpass as bp

from .failing import DOWN, RAN, Words, failed, work

pytestmark = [pytest.mark.capability("langgraph"), pytest.mark.usefixtures("log")]


class Finds(Words, total=False):
    found: Annotated[list[str], operator.add]
    left: RemainingSteps


def two(state: Any, edge: Any) -> Any:
    """Two nodes find something at the same time. Each has it looked at, one after the other: the last time fails."""

    def checked(sent: Any) -> Any:
        return {"notes": [work("check", sent["item"])]}

    made: Any = StateGraph(state)
    for name in ("one", "other"):
        made.add_node(name, lambda _, name=name: {"found": [name]})
        made.add_edge(START, name)
        made.add_conditional_edges(name, edge, ["check"])
    made.add_node("check", checked)
    return made.compile().with_config(max_concurrency=1)


def last(state: Any) -> Any:
    return Send("check", {"item": state["found"][-1]})


def every(state: Any) -> Any:
    return [Send("check", {"item": item}) for item in state["found"]]


@pytest.mark.parametrize("edge", [last, every])
async def test_what_each_node_has_sent_stays(edge: Any, store_url: str) -> None:
    """An edge had seen only what its own node wrote. Both together would send something else."""
    DOWN[:] = ["other"]
    async with failed(lambda: two(Finds, edge), store_url, "x") as (coordinator, job):
        assert RAN == ["check one", "check other"]
        RAN.clear()
        await coordinator.redrive(job.id, changes={"text": "a remark"})
        assert (await job.result(timeout=60)).notes == ["check one", "check other"]
        assert RAN == ["check other"]


@pytest.mark.parametrize("edge", [last, every])
async def test_an_edit_of_what_they_have_sent_is_refused(edge: Any, store_url: str) -> None:
    DOWN[:] = ["other"]
    async with failed(lambda: two(Finds, edge), store_url, "x") as (coordinator, job):
        await coordinator.redrive(job.id, changes={"found": ["one", "another"]})
        with pytest.raises(bp.JobFailed, match=r"one of one, other .* an edge that did not see what the others wrote"):
            await job.result(timeout=60)
        assert RAN == ["check one", "check other"]


async def test_what_is_sent_is_compared_as_it_is_stored(store_url: str) -> None:
    """A tuple is a list there. What had finished ran again."""

    def factory() -> Any:
        made: Any = StateGraph(Words)
        made.add_node("w", lambda sent: {"notes": [work("w", sent["words"][0])]})
        made.add_conditional_edges(
            START, lambda state: [Send("w", {"words": (word, (0, {1}))}) for word in state["text"].split()], ["w"]
        )
        return made.compile().with_config(max_concurrency=1)

    async with failed(factory, store_url, "a c bad") as (coordinator, job):
        RAN.clear()
        await coordinator.redrive(job.id, changes={"text": "a c good"})
        assert (await job.result(timeout=60)).notes == ["w a", "w c", "w good"]
        assert RAN == ["w good"]


async def test_an_edge_that_asks_how_many_steps_are_left(store_url: str) -> None:
    """LangGraph tells it that there are two, so that it gives up."""

    def edge(state: Any) -> str:
        if state["left"] < 3:
            return "give_up"
        return "spared" if state.get("spare") else "w"

    def factory() -> Any:
        made: Any = StateGraph(Finds)
        made.add_node("a", lambda _: {})
        made.add_node("w", lambda state: {"notes": [work("w", state["text"])]})
        made.add_node("spared", lambda state: {"notes": [work("spared", state["spare"])]})
        made.add_node("give_up", lambda _: {"notes": [work("give_up", "")]})
        made.add_edge(START, "a")
        made.add_conditional_edges("a", edge, ["w", "spared", "give_up"])
        return made.compile()

    async with failed(factory, store_url, "bad") as (coordinator, job):
        await coordinator.redrive(job.id, changes={"spare": "x"})
        assert (await job.result(timeout=60)).notes == ["spared x"]


@pytest.mark.parametrize("back", [{"spare": "as before"}, {"text": "x", "spare": "as before"}])
async def test_a_refused_edit_can_be_taken_back(back: Mapping[str, Any], store_url: str) -> None:
    def factory() -> Any:
        made: Any = StateGraph(Words)
        made.add_node("go", lambda _: Command(update={"spare": "as before"}, goto=[Send("w", {"word": "a"})]))
        made.add_node("w", lambda sent: {"notes": [work("w", sent["word"])]})
        made.add_edge(START, "go")
        return made.compile()

    DOWN[:] = ["a"]
    async with failed(factory, store_url, "x") as (coordinator, job):
        await coordinator.redrive(job.id, changes={"spare": "new"})
        with pytest.raises(bp.JobFailed, match="the edit of the state would not reach w: go has sent the arguments"):
            await job.result(timeout=60)
        await coordinator.redrive(job.id, changes=back)
        assert (await job.result(timeout=60)).notes == ["w a"]


async def test_edges_send_in_the_order_in_which_they_had(store_url: str) -> None:
    """Of nodes that ran together, in that of their names, and not in that in which each had first run."""

    def factory() -> Any:
        made: Any = StateGraph(Words)
        made.add_node("p", lambda _: {"notes": ["p"]})
        made.add_node("q", lambda _: {"notes": ["q"]})
        made.add_node("w", lambda sent: {"notes": [work("w", sent["word"])]})
        made.add_edge(START, "q")
        made.add_conditional_edges("q", lambda state: ["p", "q"] if len(state["notes"]) == 1 else w("last"))
        made.add_conditional_edges("p", lambda _: w("first"), ["w"])
        return made.compile().with_config(max_concurrency=1)

    def w(word: str) -> list[Send]:
        return [Send("w", {"word": word})]

    DOWN[:] = ["last"]
    async with failed(factory, store_url, "x") as (coordinator, job):
        assert RAN == ["w first", "w last"]
        RAN.clear()
        await coordinator.redrive(job.id, changes={"spare": "x"})
        assert (await job.result(timeout=60)).notes == ["q", "p", "q", "w first", "w last"]
        assert RAN == ["w last"]


async def test_a_task_that_was_not_sent_is_not_taken_for_one_that_is(store_url: str) -> None:
    """The node had named the next one itself. That an edge now sends to it is something else."""

    def factory() -> Any:
        made: Any = StateGraph(Words)
        made.add_node("go", lambda _: Command(goto="w"))
        made.add_node("w", lambda state: {"notes": [work("w", state.get("text", "sent"))]})
        made.add_edge(START, "go")
        made.add_conditional_edges("go", lambda state: [Send("w", {})] if state.get("spare") else [], ["w"])
        return made.compile()

    async with failed(factory, store_url, "bad") as (coordinator, job):
        await coordinator.redrive(job.id, changes={"spare": "x"})
        with pytest.raises(bp.JobFailed, match="one of go also said itself what runs next"):
            await job.result(timeout=60)


async def test_tokens_that_an_edge_spends_are_counted(store_url: str) -> None:
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    model = GenericFakeChatModel(messages=repeat(AIMessage("w", usage_metadata=cast("Any", usage))))

    def edge(state: Any, config: RunnableConfig) -> str:
        model.invoke("where to?", config)
        return "w"

    def factory() -> Any:
        made: Any = StateGraph(Words)
        made.add_node("a", lambda _: {})
        made.add_node("w", lambda state: {"notes": [work("w", state["text"])]})
        made.add_edge(START, "a")
        made.add_conditional_edges("a", edge, ["w"])
        return made.compile()

    async with failed(factory, store_url, "bad") as (coordinator, job):
        await coordinator.redrive(job.id, changes={"text": "good"})
        await job.result(timeout=60)
        assert (await job.info()).spent.tokens == 7 + 7
