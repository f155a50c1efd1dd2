"""A desk of a LangGraph researcher, a CrewAI writer and an AutoGen reviewer, and what they talk about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any, TypedDict

import anyio
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import LLMMessage
from crewai import Agent, BaseLLM, Crew, Task
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

import batonpass as bp
from batonpass.contracts.transcript import Message

from .autogen_app import ScriptedModel

Graph = StateGraph[Any, None, Any, Any]


class Topic(bp.Contract, name="switch.topic"):
    text: str


class Draft(bp.Contract, name="switch.draft"):
    body: str


class Review(bp.Contract, name="switch.review"):
    body: str


class Desk(TypedDict, total=False):
    text: str
    body: str
    messages: Annotated[list[AnyMessage], add_messages]


CALLS: list[Any] = [
    {"id": "tc1", "name": "search", "args": {"q": "streams"}, "type": "tool_call"},
    {"id": "tc2", "name": "search", "args": {"q": "pubsub"}, "type": "tool_call"},
]
ASKED = AIMessage("", id="a-1", name="researcher", tool_calls=CALLS, response_metadata={"model_name": "m"})
ANSWERED: list[AnyMessage] = [
    ToolMessage("consumer groups", tool_call_id="tc1", name="search", id="t-1", artifact={"rows": 3}),
    ToolMessage("boom", tool_call_id="tc2", name="search", id="t-2", status="error"),
]
BEFORE: list[AnyMessage] = [
    SystemMessage("be terse", id="s-1"),
    HumanMessage("streams?", id="h-1", name="ann"),
    ASKED,
    *ANSWERED,
    AIMessage(
        "one of two answered", id="a-2", usage_metadata={"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}
    ),
]


SEEN: dict[str, Any] = {}


def loop_before(gate: Any) -> Graph:
    """A graph that does a tool loop before its node `gate`, and publishes what that gives."""

    def publish(state: Any) -> Any:
        return {"body": f"PUBLISHED {state['body']}"}

    graph: Graph = StateGraph(Desk)
    graph.add_node("ask", lambda state: {"messages": [*BEFORE[:2], ASKED]})
    graph.add_node("tools", lambda state: {"messages": ANSWERED})
    graph.add_node("sum", lambda state: {"messages": BEFORE[5:]})
    graph.add_node("gate", gate)
    graph.add_node("publish", publish)
    for one, other in ((START, "ask"), ("ask", "tools"), ("tools", "sum"), ("sum", "gate"), ("gate", "publish")):
        graph.add_edge(one, other)
    return graph


class CrewModel(BaseLLM):
    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        SEEN["crewai"] = [dict(message) for message in messages]
        return "a draft"

    def supports_function_calling(self) -> bool:
        return False


def writers() -> Crew:
    agent = Agent(role="writer", goal="g", backstory="b", llm=CrewModel(model="scripted"))
    return Crew(
        agents=[agent], tasks=[Task(name="draft", description="Write on {text}", expected_output="x", agent=agent)]
    )


def review(turn: int, messages: Sequence[LLMMessage]) -> str:
    SEEN["autogen"] = list(messages)
    return "approved"


def reviewers() -> RoundRobinGroupChat:
    return RoundRobinGroupChat(
        [AssistantAgent("reviewer", ScriptedModel("reviewer", review), system_message="check it")], max_turns=1
    )


def half_done() -> Any:
    """A graph that dies within its tool loop."""

    def tools(state: Desk) -> Any:
        raise OSError("no network")

    graph: Graph = StateGraph(Desk)
    graph.add_node("ask", lambda state: {"messages": [HumanMessage("streams?", id="h-1"), ASKED, ANSWERED[0]]})
    graph.add_node("tools", tools)
    return graph.add_edge(START, "ask").add_edge("ask", "tools")


def half_done_desk(**options: Any) -> bp.App:
    app = bp.App("half")
    declared: dict[str, Any] = {"accepts": Topic, "returns": Draft, "retries": 1, **options}
    app.langgraph("research", **declared)(half_done)

    @app.agent("plain", accepts=Topic, returns=Draft)
    async def plain(topic: Topic, ctx: bp.Context) -> Draft:
        SEEN["plain"] = ctx.transcript
        return Draft(body=f"{topic.text}: {len(ctx.transcript.messages)}")

    app.crewai("write", accepts=Topic, returns=Draft)(writers)
    app.autogen("review", accepts=Topic, returns=Draft)(reviewers)
    return app


async def tip(job: bp.Job[Any]) -> str:
    found = (await job.info()).checkpoint_id
    assert found is not None
    return found


def said(message: Message) -> Any:
    """A message without what LangGraph gives it (an id) and what only AutoGen says of its own."""
    return message.role, message.author, message.parts, message.usage


async def happened(coordinator: bp.Coordinator, job: bp.Job[Any], kind: str) -> Mapping[str, Any]:
    """The data of a job's first event of that kind, as soon as there is one."""
    with anyio.fail_after(20):
        stream: Any = coordinator.events(job=job.id, follow=True)
        async with aclosing(stream) as events:
            async for event in events:
                if event.type == kind:
                    data: Mapping[str, Any] = event.data
                    return data
    raise AssertionError(f"no {kind}")
