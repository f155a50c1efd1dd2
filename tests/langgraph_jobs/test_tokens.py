"""What a graph's models stream is on the job's stream."""

from __future__ import annotations

from collections.abc import Iterator
from operator import add
from typing import Annotated, Any, TypedDict, cast

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

from ..apps.langgraph_kit import graph
from .test_stream import streamed

pytestmark = pytest.mark.capability("langgraph")


class Telling(BaseChatModel):
    """A scripted model that streams if it is told to, as those of the providers do."""

    contents: list[Any]
    streaming: bool = False

    @property
    def _llm_type(self) -> str:
        return "telling"

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for content in self.contents:
            if isinstance(content, Exception):
                raise content
            yield ChatGenerationChunk(message=AIMessageChunk(content=content))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="".join(self.contents)))])


def saying(*contents: Any, **options: Any) -> Telling:
    return Telling(contents=list(contents), **options)


async def test_they_are_told_apart_and_come_in_order() -> None:
    async def awaited(state: Any) -> Any:
        return {"notes": [(await saying("so ", "it ", "", "is", streaming=True).ainvoke("?")).text]}

    def threaded(state: Any) -> Any:
        return {"notes": ["".join(part.text for part in saying("by ", "hand").stream("?"))]}

    parts, notes = await streamed(lambda: graph(awaited, threaded))
    assert notes == ["so it is", "by hand"]
    assert [part["chunk"] for part in parts] == ["so ", "it ", "is", "by ", "hand"]
    assert [part["agent"] for part in parts] == ["awaited"] * 3 + ["threaded"] * 2


async def test_of_content_blocks_their_text() -> None:
    def node(state: Any) -> Any:
        model = saying([{"type": "text", "text": "in "}], [{"type": "text", "text": "blocks"}], streaming=True)
        return {"notes": [str(model.invoke("?").text)]}

    parts, notes = await streamed(lambda: graph(node))
    assert ([part["chunk"] for part in parts], notes) == (["in ", "blocks"], ["in blocks"])


async def test_a_named_agent_speaks_under_its_name() -> None:
    def node(state: Any) -> Any:
        model = saying("hi", streaming=True).with_config(metadata={"lc_agent_name": "clerk"})
        return {"notes": [model.invoke("?").text]}

    parts, _ = await streamed(lambda: graph(node))
    assert [(part["agent"], part["chunk"]) for part in parts] == [("clerk", "hi")]


async def test_agents_of_langgraph_speak_under_the_name_that_they_have_in_the_graph() -> None:
    def agent(said: str) -> Any:
        made = StateGraph(MessagesState)
        made.add_node("agent", lambda state: {"messages": [saying(said, streaming=True).invoke("?")]})
        return made.add_edge(START, "agent").compile()

    class State(MessagesState):
        notes: list[str]

    def make() -> Any:
        made = StateGraph(State).add_node("research", agent("found")).add_node("billing", agent("paid"))
        made.add_node("agent", lambda state: {"notes": [saying("done", streaming=True).invoke("?").text]})
        return made.add_edge(START, "research").add_edge("research", "billing").add_edge("billing", "agent")

    parts, _ = await streamed(make)
    told = [(part["agent"], part["chunk"], [step.split(":")[0] for step in part["path"].split("|")]) for part in parts]
    assert told == [
        ("research", "found", ["research", "agent"]),
        ("billing", "paid", ["billing", "agent"]),
        ("agent", "done", ["agent"]),
    ]


async def test_answers_that_are_given_side_by_side_can_be_put_together() -> None:
    class State(TypedDict, total=False):
        text: str
        notes: Annotated[list[str], add]

    async def write(given: Any) -> Any:
        model = saying(f"{given['text']} ", "says ", "so", streaming=True)
        return {"notes": [(await model.ainvoke("?")).text]}

    def make() -> Any:
        made = StateGraph(State).add_node("write", cast("Any", write))
        return made.add_conditional_edges(
            START, lambda _: [Send("write", {"text": t}) for t in ("ann", "bob")], ["write"]
        )

    parts, _ = await streamed(make)
    said: dict[tuple[str, str], str] = {}
    for part in parts:
        about = part["message"], part["path"]
        said[about] = said.get(about, "") + part["chunk"]
    assert sorted(said.values()) == ["ann says so", "bob says so"]
    assert len({path for _, path in said}) == 2


async def test_an_answer_that_begins_again_can_be_told_from_the_one_that_broke_off() -> None:
    failures = [ConnectionError("reset by peer")]

    def node(state: Any) -> Any:
        return {"notes": [saying("so ", *[failures.pop() for _ in failures], "it is", streaming=True).invoke("?").text]}

    parts, notes = await streamed(lambda: graph(node))
    assert notes == ["so it is"]
    assert [part["chunk"] for part in parts] == ["so ", "so ", "it is"]
    broken, *again = parts
    assert {part["path"] for part in again} == {broken["path"]}
    assert len({part["message"] for part in again} - {broken["message"]}) == 1
    assert all(part["lease"] > broken["lease"] for part in again)


async def test_those_that_do_not_stream_or_that_nobody_should_hear_are_left_alone() -> None:
    def node(state: Any) -> Any:
        unheard = saying("un", "heard", streaming=True).with_config(tags=["nostream"])
        return {"notes": [saying("not ", "streamed").invoke("?").text, unheard.invoke("?").text]}

    parts, notes = await streamed(lambda: graph(node))
    assert (parts, notes) == ([], ["not streamed", "unheard"])
