"""What a LangGraph agent gives its job, and which set-ups are refused."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.prebuilt import create_react_agent
from pydantic import BaseModel

import batonpass as bp
from batonpass.adapters.langgraph import LangGraphAdapter

from ..apps.kit import outcome
from ..apps.langgraph_app import Notes, ScriptedModel, Words
from ..apps.langgraph_kit import failure, graph, only, result

pytestmark = [pytest.mark.capability("langgraph"), pytest.mark.usefixtures("log")]


class Report(bp.Contract, name="langgraph_tests.report"):
    body: str


class Loose(Words, total=False):
    anything: Any


async def test_an_instance_of_the_contract_is_the_result() -> None:
    def answer(state: Any) -> Any:
        return {"anything": Report(body="an instance")}

    assert await result(lambda: graph(answer, state=Loose), returns=Report) == Report(body="an instance")


async def test_a_structured_response_is_the_result() -> None:
    class Structured(Words, total=False):
        structured_response: dict[str, Any]
        body: str

    def answer(state: Any) -> Any:
        return {"structured_response": {"body": "structured"}, "body": "by name"}

    assert await result(lambda: graph(answer, state=Structured), returns=Report) == Report(body="structured")


class Body(BaseModel):
    body: str


class Structuring(ScriptedModel):
    """A model that answers in the form that it was asked for."""

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("done"))])

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
        return RunnableLambda(lambda messages: schema(body="structured"))


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("form", [Body, ("Be brief.", Body)])
async def test_a_structured_response_may_be_of_a_class_that_only_the_agent_was_given(form: Any) -> None:
    def factory() -> Any:
        return create_react_agent(Structuring(), [], response_format=form)

    assert await result(factory, returns=Report) == Report(body="structured")


class Strategy:
    """Like LangChain's strategies for structured output."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema


@pytest.mark.parametrize("schema", [Body, Body | Loose])
async def test_so_may_the_class_of_a_strategy(schema: Any) -> None:
    def factory() -> Any:
        initial_response_format = Strategy(schema)

        def answer(state: Any) -> Any:
            assert initial_response_format
            return {"anything": Body(body="structured"), "notes": ["done"]}

        return graph(answer, state=Loose)

    assert await result(factory) == Notes(notes=["done"])


@pytest.mark.parametrize(("said", "body"), [("plain", "plain"), ('{"body": "json"}', "json")])
async def test_the_last_answer_is_the_result(said: str, body: str) -> None:
    def answer(state: Any) -> Any:
        assert [message.content for message in state["messages"]] == ["rain"]
        return {"messages": [AIMessage("first"), AIMessage(said), HumanMessage("thanks")]}

    assert await result(lambda: graph(answer, state=MessagesState), returns=Report) == Report(body=body)


async def test_a_whole_state_is_a_result() -> None:
    def answer(state: Any) -> Any:
        return {"messages": [AIMessage("done", id="1")]}

    state = await result(lambda: graph(answer, state=MessagesState), returns=bp.State)
    assert state["messages"][-1] == {"type": "ai", "content": "done", "id": "1"}


class Named(TypedDict, total=False):
    keys: list[str]
    held: Any
    _asdict: int


class Wanted(bp.Contract, name="langgraph_tests.wanted"):
    keys: list[str]


async def test_a_payload_and_a_state_may_have_keys_that_are_names_of_methods() -> None:
    def answer(state: Any) -> Any:
        return {"keys": [*state["keys"], "b"], "held": bp.State.model_validate({"keys": 1, "_asdict": 2})}

    app = only(lambda: graph(answer, state=Named), accepts=Wanted, returns=bp.State)
    found = await outcome(app, Wanted(keys=["a"]))
    assert found.as_dict() == {"keys": ["a", "b"], "held": {"keys": 1, "_asdict": 2}}


async def test_a_result_that_does_not_fit_fails_as_a_contract_violation() -> None:
    def answer(state: Any) -> Any:
        return {"notes": ["x"]}

    failed = await failure(lambda: graph(answer), returns=Report)
    assert failed.reason == "contract"
    assert "ended without body of langgraph_tests.report@1" in failed.error


async def test_enter_and_leave_replace_the_defaults() -> None:
    def answer(state: Any) -> Any:
        return {"notes": [state["text"]]}

    done = await result(
        lambda: graph(answer),
        enter=lambda payload, ctx: {"text": payload.text.upper()},
        leave=lambda state, ctx: Report(body=f"{ctx.agent}: {state['notes'][0]}"),
        returns=Report,
    )
    assert done == Report(body="a: RAIN")


class Order(bp.Contract, name="langgraph_tests.order"):
    text: str
    colour: str


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (lambda: 5, "the factory of agent 'a' returned int: return a StateGraph"),
        (lambda: None, "the factory of agent 'a' returned NoneType: return a StateGraph"),
        (lambda: graph(plain_node), "langgraph_tests.order@1 has colour, but the graph's state has notes, number"),
        (lambda: graph(plain_node, state=Delta), "the state key 'log' is a DeltaChannel"),
    ],
)
async def test_a_wrong_set_up_is_named(factory: Callable[[], Any], message: str) -> None:
    with pytest.raises(bp.JobFailed) as caught:
        await only(factory, accepts=Order).run("a", Order(text="rain", colour="red"), timeout=20)
    assert caught.value.reason == "refused"
    assert message in caught.value.error


def plain_node(state: Any) -> Any:
    return {"notes": ["x"]}


class Delta(TypedDict, total=False):
    text: str
    log: Annotated[list[str], DeltaChannel(lambda values, writes: [*values, *writes])]


async def test_the_graphs_own_checkpointer_is_replaced_with_a_warning() -> None:
    own = InMemorySaver()
    with pytest.warns(UserWarning, match="the graph of agent 'a' has a checkpointer of its own"):
        done = await result(lambda: graph(plain_node).compile(checkpointer=own))
    assert done.notes == ["x"]
    assert not list(own.list(None))


async def test_factories_of_every_form() -> None:
    opened: list[str] = []

    @asynccontextmanager
    async def held(ctx: bp.Context) -> AsyncIterator[Any]:
        opened.append("open")
        yield graph(plain_node)
        opened.append("closed")

    async def awaited() -> Any:
        return graph(plain_node).compile()

    assert (await result(held)).notes == ["x"]
    assert opened == ["open", "closed"]
    assert (await result(awaited)).notes == ["x"]


def test_without_the_framework_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langgraph.pregel", None)
    with pytest.raises(bp.MissingExtra, match=r"pip install 'batonpass\[langgraph\]'"):
        LangGraphAdapter()
