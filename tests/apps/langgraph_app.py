"""LangGraph agents with a scripted model, for the adapter's tests and the kill tests. Needs no network."""

from __future__ import annotations

import operator
import warnings
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.types import interrupt

import batonpass as bp

from . import evidence

Graph = StateGraph[Any, None, Any, Any]


class Topic(bp.Contract, name="langgraph_app.topic"):
    text: str


class Round(bp.Contract, name="langgraph_app.round"):
    number: int


class Notes(bp.Contract, name="langgraph_app.notes"):
    notes: list[str]


class Words(TypedDict, total=False):
    text: str
    number: int
    notes: Annotated[list[str], operator.add]


class Inner(TypedDict, total=False):
    text: str
    found: Annotated[list[str], operator.add]


class Outer(Words, total=False):
    found: list[str]


class ScriptedModel(BaseChatModel):
    """A model that asks for the tool once, and then answers with what the tool said."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        turn = 1 + sum(isinstance(message, AIMessage) for message in messages)
        evidence.ran(f"react:model:{turn}")
        last = messages[-1]
        if isinstance(last, ToolMessage):
            reply = AIMessage(f"it has {last.content} letters")
        else:
            call = {"name": "count", "args": {"word": str(last.content)}, "id": "call-1"}
            reply = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=reply)])


@tool
def count(word: str) -> str:
    """How many letters a word has."""
    evidence.ran("react:count")
    return str(len(word))


app = bp.App("langgraph-app")


def node(label: str, note: str, key: str = "notes") -> Any:
    """A sync node that adds a note under `key`."""

    def run(state: Any) -> Any:
        evidence.ran(label)
        return {key: [f"{note} {state['text']}"]}

    return run


def in_order(nodes: dict[str, Any], state: Any = Words) -> Graph:
    """A graph whose nodes run one after the other."""
    graph = StateGraph(state)
    graph.add_sequence(list(nodes.items()))
    graph.add_edge(START, next(iter(nodes)))
    return graph


@app.langgraph("line", accepts=Topic, returns=Notes)
def line() -> Graph:
    async def second(state: Any) -> Any:
        evidence.ran("line:second")
        return {"notes": [f"second after {len(state['notes'])}"]}

    return in_order({"first": node("line:first", "first"), "second": second, "third": node("line:third", "third")})


@app.langgraph("fan", accepts=Topic, returns=Notes)
def fan() -> Graph:
    graph = StateGraph(Words)
    for name in ("split", "left", "right", "join"):
        graph.add_node(name, node(f"fan:{name}", name))
    graph.add_edge(START, "split")
    graph.add_edge("split", "left")
    graph.add_edge("split", "right")
    graph.add_edge(["left", "right"], "join")
    return graph


@app.langgraph("ask", accepts=Topic, returns=Notes)
def ask() -> Graph:
    def person(state: Any) -> Any:
        name = interrupt({"question": "who approves?", "about": state["text"]})
        sure = interrupt("sure?")
        evidence.ran("ask:answered")
        return {"notes": [f"approved by {name}, {sure}"]}

    return in_order({"draft": node("ask:draft", "draft"), "person": person, "publish": node("ask:publish", "publish")})


@app.langgraph("gate", accepts=Topic, returns=Notes)
def gate() -> CompiledStateGraph[Any, Any, Any, Any]:
    graph = in_order({"draft": node("gate:draft", "draft"), "publish": node("gate:publish", "publish")})
    return graph.compile(interrupt_before=["publish"])


@app.langgraph("react", accepts=Topic, returns=Topic)
def react() -> CompiledStateGraph[Any, Any, Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return create_react_agent(ScriptedModel(), [count])


@app.langgraph("nested", accepts=Topic, returns=Notes)
def nested() -> Graph:
    deep, deeper = (node(f"nested:{name}", name, "found") for name in ("deep", "deeper"))
    part = in_order({"deep": deep, "deeper": deeper}, Inner).compile()

    def after(state: Any) -> Any:
        evidence.ran("nested:after")
        return {"notes": [*state["found"], f"after {state['text']}"]}

    return in_order({"before": node("nested:before", "before"), "part": part, "after": after}, Outer)


def again(result: dict[str, Any], ctx: Any) -> bp.Contract | bp.Handoff[Any]:
    """The first visit hands the job to the same agent."""
    return bp.Handoff("twice", Round(number=2)) if result["number"] == 1 else Notes(notes=result["notes"])


@app.langgraph("twice", accepts=Round, returns=Notes, hands_to={"twice": Round}, leave=again)
def twice() -> Graph:
    def work(state: Any) -> Any:
        evidence.ran(f"twice:{state['number']}:work")
        return {"notes": [f"visit {state['number']}"]}

    def close(state: Any) -> None:
        evidence.ran(f"twice:{state['number']}:close")

    return in_order({"work": work, "close": close})


@app.agent("desk", accepts=Topic, hands_to={"lend": Topic})
async def desk(topic: Topic, ctx: bp.Context) -> bp.Handoff[Topic]:
    await ctx.step("look", lambda: evidence.ran("lend:desk"))
    return ctx.hand_off("lend", Topic(text=f"{topic.text} from the desk"))


@app.langgraph("lend", accepts=Topic, returns=Notes, hands_to={"desk": Topic}, memory="job")
def lend() -> Graph:
    """Passes its job on in its middle, and goes on there."""

    def away(state: Any) -> Any:
        back = interrupt(bp.Handoff("desk", Topic(text=state["text"])))
        evidence.ran("lend:back")
        return {"notes": [f"back with {back.text}"]}

    return in_order({"before": node("lend:before", "before"), "away": away, "after": node("lend:after", "after")})


INPUT: dict[str, dict[str, Any]] = {
    "line": {"text": "rain"},
    "fan": {"text": "rain"},
    "ask": {"text": "rain"},
    "gate": {"text": "rain"},
    "react": {"text": "rain"},
    "nested": {"text": "rain"},
    "twice": {"number": 1},
    "lend": {"text": "rain"},
}
ANSWERS: dict[str, list[str]] = {"ask": ["Ada", "yes"], "gate": ["go"]}
# The labels in the order of an undisturbed run; those of PARALLEL run at once.
PARALLEL: dict[str, list[set[str]]] = {"fan": [{"fan:left", "fan:right"}]}
STEPS: dict[str, list[str]] = {
    "line": ["line:first", "line:second", "line:third"],
    "fan": ["fan:split", "fan:left", "fan:right", "fan:join"],
    "ask": ["ask:draft", "ask:answered", "ask:publish"],
    "gate": ["gate:draft", "gate:publish"],
    "react": ["react:model:1", "react:count", "react:model:2"],
    "nested": ["nested:before", "nested:deep", "nested:deeper", "nested:after"],
    "twice": ["twice:1:work", "twice:1:close", "twice:2:work", "twice:2:close"],
    "lend": ["lend:before", "lend:desk", "lend:back", "lend:after"],
}
EXPECTED: dict[str, dict[str, Any]] = {
    "line": {"notes": ["first rain", "second after 1", "third rain"]},
    "fan": {"notes": ["split rain", "left rain", "right rain", "join rain"]},
    "ask": {"notes": ["draft rain", "approved by Ada, yes", "publish rain"]},
    "gate": {"notes": ["draft rain", "publish rain"]},
    "react": {"text": "it has 4 letters"},
    "nested": {"notes": ["before rain", "deep rain", "deeper rain", "after rain"]},
    "twice": {"notes": ["visit 2"]},
    "lend": {"notes": ["before rain", "back with rain from the desk", "after rain"]},
}
