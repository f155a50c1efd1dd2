"""Under a job, a graph's nodes get fields of the payload as `runtime.context`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from langgraph.config import get_store
from langgraph.graph import MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt
from pydantic import BaseModel

import batonpass as bp
from batonpass.testing import serving

from ..apps.kit import defeat, outcome, question
from ..apps.langgraph_app import Notes, Words
from ..apps.langgraph_kit import graph, only, result

pytestmark = [pytest.mark.capability("langgraph"), pytest.mark.usefixtures("log")]


class Request(bp.Contract, name="langgraph_context.request"):
    text: str
    user: str
    limit: int = 3


class Model(BaseModel):
    user: str
    limit: int


@dataclass
class Data:
    user: str
    language: str = "en"


class Typed(TypedDict):
    user: str


class Needy(BaseModel):
    user: str
    missing: str


def factory(schema: Any, node: Any, state: Any = Words) -> Any:
    def make() -> Any:
        made: Any = StateGraph(state, context_schema=schema)
        made.add_sequence([node])
        made.set_entry_point(node.__name__)
        return made

    return make


def tell(state: Any, runtime: Runtime[Any]) -> Any:
    return {"notes": [f"{runtime.context!r}", *sorted(state)]}


class Wide(Words, total=False):
    limit: int
    user: str


@pytest.mark.parametrize(
    ("schema", "state", "told"),
    [
        (Model, Words, ["Model(user='ada', limit=5)", "notes", "text"]),
        (Data, Wide, ["Data(user='ada', language='en')", "limit", "notes", "text", "user"]),
        (Typed, Wide, ["{'user': 'ada'}", "limit", "notes", "text", "user"]),
        (None, Wide, ["None", "limit", "notes", "text", "user"]),
    ],
)
async def test_it_is_the_fields_that_the_schema_names(schema: Any, state: Any, told: list[str]) -> None:
    app = only(factory(schema, tell, state), accepts=Request)
    assert (await outcome(app, Request(text="rain", user="ada", limit=5))).notes == told


async def test_the_rest_may_be_a_message() -> None:
    def answer(state: Any, runtime: Runtime[Any]) -> Any:
        return {"messages": [AIMessage(f"{state['messages'][-1].content} for {runtime.context.user}")]}

    app = only(
        factory(Model, answer, MessagesState),
        accepts=Request,
        returns=Request,
        leave=lambda state, ctx: Request(text=state["messages"][-1].content, user="-"),
    )
    assert (await outcome(app, Request(text="rain", user="ada"))).text == "rain for ada"


async def test_it_is_the_same_after_a_question() -> None:
    def ask(state: Any, runtime: Runtime[Any]) -> Any:
        return {"notes": [f"{interrupt('sure?')} {runtime.context.user}"]}

    async with serving(only(factory(Model, ask), accepts=Request)) as coordinator:
        job = await coordinator.submit("a", Request(text="rain", user="ada"))
        await question(job)
        await job.answer("yes")
        assert (await job.result(timeout=20)).notes == ["yes ada"]


async def test_one_that_lacks_something_is_refused_in_words() -> None:
    failed = await defeat(only(factory(Needy, tell, Wide), accepts=Request), Request(text="rain", user="ada"))
    assert failed.reason == "refused"
    assert "the fields user of langgraph_context.request@1 make no Needy, which is the graph's context" in failed.error


async def test_nodes_and_parts_have_the_long_term_memory_that_the_graph_was_compiled_with() -> None:
    async def keep(state: Any, runtime: Runtime[None]) -> Any:
        assert runtime.store is not None
        await runtime.store.aput(("notes",), "text", {"is": state["text"]})
        return {}

    def recall(state: Any) -> Any:
        item = get_store().get(("notes",), "text")
        assert item is not None
        return {"notes": [item.value["is"]]}

    def make() -> Any:
        part = graph(recall).compile()
        made = graph(keep)
        made.add_node("part", part)
        made.add_edge("keep", "part")
        return made.compile(store=InMemoryStore())

    assert await result(make) == Notes(notes=["rain"])
