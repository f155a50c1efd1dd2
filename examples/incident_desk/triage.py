"""Triage: a LangGraph agent that asks tools about the log until it can say what happened."""

# pyright: reportMissingTypeStubs=false
# LangGraph is typed, but only some of its packages say so.

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import InjectedState, ToolNode

from . import figures, tools
from .evidence import begin
from .line import Level
from .log import read
from .models.langchain import chat_model

PROMPT = (
    "You triage incidents from a log that you can only see through tools. Call every tool at least once: levels, "
    "bursts and top signatures first, then first occurrences, then an excerpt of the lines that matter. Leave `level` "
    "out to ask about the gravest one. Then sum up in at most five sentences what happened, with figures and line "
    "numbers from the tools' answers only."
)
LogPath = Annotated[str, InjectedState("log")]


class State(TypedDict):
    """The graph's state. The last four are the `Findings` that the job goes on with."""

    title: str
    log: str
    messages: Annotated[list[AnyMessage], add_messages]
    summary: NotRequired[str]
    severity: NotRequired[str]
    figures: NotRequired[list[dict[str, Any]]]
    timeline: NotRequired[list[dict[str, Any]]]


def _worst(log: str, level: Level | None) -> Level:
    return level or tools.worst_level(tools.count_levels(read(Path(log))))


@tool
def count_levels(log: LogPath) -> str:
    """How many lines of each level the log has, who wrote how many, and its first and last time."""
    begin("triage: tool count_levels")
    return tools.count_levels(read(Path(log))).model_dump_json()


@tool
def find_bursts(log: LogPath, level: Level | None = None) -> str:
    """The minutes with the most lines of a level, against the median of all minutes."""
    begin("triage: tool find_bursts")
    return tools.find_bursts(read(Path(log)), _worst(log, level)).model_dump_json()


@tool
def top_signatures(log: LogPath, level: Level | None = None) -> str:
    """The most frequent messages of a level; numbers, ids and addresses in them are left out."""
    begin("triage: tool top_signatures")
    return tools.top_signatures(read(Path(log)), _worst(log, level)).model_dump_json()


@tool
def first_occurrences(log: LogPath, level: Level | None = None) -> str:
    """The messages of a level in the order in which each was first seen, with line and time."""
    begin("triage: tool first_occurrences")
    return tools.first_occurrences(read(Path(log)), _worst(log, level)).model_dump_json()


@tool
def excerpt(log: LogPath, lines: list[int]) -> str:
    """The lines with these numbers, as they stand in the log."""
    begin("triage: tool excerpt")
    return json.dumps([quote.model_dump() for quote in tools.excerpt(read(Path(log)), lines)])


TOOLS = [count_levels, find_bursts, top_signatures, first_occurrences, excerpt]


def _results(messages: Sequence[AnyMessage]) -> list[figures.Result]:
    return [
        (str(message.name), json.loads(str(message.content)))
        for message in messages
        if isinstance(message, ToolMessage) and message.status == "success"
    ]


def _turn(state: State) -> int:
    return 1 + sum(isinstance(message, AIMessage) for message in state["messages"])


def build() -> Any:
    """The graph: agent and tools in turns, then the findings. Each superstep is a checkpoint."""
    model = chat_model().bind_tools(TOOLS)
    work = ToolNode(TOOLS)

    async def agent(state: State) -> dict[str, Any]:
        await asyncio.to_thread(begin, f"triage: agent {_turn(state)}")
        opening: list[AnyMessage] = []
        if not state["messages"]:
            opening = [SystemMessage(PROMPT), HumanMessage(f"Incident: {state['title']}. What happened?")]
        answer = await model.ainvoke([*state["messages"], *opening])
        return {"messages": [*opening, answer]}

    async def ask(state: State) -> Any:
        await asyncio.to_thread(begin, f"triage: tools {_turn(state) - 1}")
        return await work.ainvoke(state)

    def conclude(state: State) -> dict[str, Any]:
        begin("triage: conclude")
        results = _results(state["messages"])
        return {
            "summary": state["messages"][-1].text,
            "severity": figures.severity(results),
            "figures": [figure.model_dump() for figure in figures.figures(results)],
            "timeline": [moment.model_dump() for moment in figures.timeline(results)],
        }

    def route(state: State) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else "conclude"

    graph: Any = StateGraph(State)
    graph.add_node("agent", agent)
    graph.add_node("tools", ask)
    graph.add_node("conclude", conclude)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", route, ["tools", "conclude"])
    graph.add_edge("tools", "agent")
    graph.add_edge("conclude", END)
    return graph
