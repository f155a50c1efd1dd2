"""The guard travels through every framework, and tokens that their models use count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from crewai import Agent, BaseLLM, Crew, Task
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import START, StateGraph

import batonpass as bp

from .apps.autogen_app import ScriptedModel
from .workers.serving import DEADLINE, reached, serving

pytestmark = [
    pytest.mark.capability("langgraph", "crewai", "autogen"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
GRAPH, CREW, TEAM = 13, 7, 2  # what one call of each framework's model uses


class Text(bp.Contract, name="guard.text"):
    text: str


class State(TypedDict, total=False):
    text: str


class GraphModel(BaseChatModel):
    """A model of LangChain that says how many tokens it used."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        CALLS.append("graph")
        usage: Any = {"input_tokens": GRAPH - 3, "output_tokens": 3, "total_tokens": GRAPH}
        return ChatResult(generations=[ChatGeneration(message=AIMessage("a graph", usage_metadata=usage))])


class CrewModel(BaseLLM):
    """A model of CrewAI that says how many tokens it used."""

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        CALLS.append("crew")
        self._track_token_usage_internal({"prompt_tokens": CREW - 3, "completion_tokens": 3, "total_tokens": CREW})
        return "Thought: done\nFinal Answer: a crew"

    def supports_function_calling(self) -> bool:
        return False


class TeamModel(ScriptedModel):
    """A model of AutoGen: the first message costs a token, and so does the answer."""

    async def create(self, messages: Any, **options: Any) -> Any:
        CALLS.append("team")
        return await super().create(messages, **options)


CALLS: list[str] = []


@pytest.fixture(autouse=True)
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which models were asked."""
    monkeypatch.setenv("BATONPASS_TEST_LOG", str(tmp_path / "evidence.log"))
    CALLS.clear()
    return CALLS


def graph(*nodes: str) -> StateGraph[Any, None, Any, Any]:
    """A graph whose nodes each ask the model, one sync and the next async."""
    model = GraphModel()
    made: StateGraph[Any, None, Any, Any] = StateGraph(State)

    def ask(state: Any) -> Any:
        return {"text": str(model.invoke("go").content)}

    async def aask(state: Any) -> Any:
        return {"text": str((await model.ainvoke("go")).content)}

    for number, name in enumerate(nodes):
        made.add_node(name, aask if number % 2 else ask)
        made.add_edge(nodes[number - 1] if number else START, name)
    return made


def crew(*tasks: str) -> Crew:
    """A crew whose tasks each ask the model."""
    agent = Agent(role="writer", goal="g", backstory="b", llm=CrewModel(model="scripted"))
    made = [Task(name=name, description=f"{name} {{text}}", expected_output="x", agent=agent) for name in tasks]
    return Crew(agents=[agent], tasks=made)


def team(turns: int) -> RoundRobinGroupChat:
    """A team whose member asks the model in each turn."""
    member = AssistantAgent("A", TeamModel("A", lambda turn, messages: "a team"), system_message=None)
    return RoundRobinGroupChat([member], max_turns=turns)


def chain() -> bp.App:
    """triage (LangGraph) -> write (CrewAI) -> review (AutoGen) -> decide (a function) -> write ..."""
    app = bp.App("chain")
    app.langgraph("triage", accepts=Text, hands_to={"write": Text})(lambda: graph("one", "two"))
    app.crewai("write", accepts=Text, hands_to={"review": Text}, isolation="task")(lambda: crew("one"))
    app.autogen("review", accepts=Text, hands_to={"decide": Text})(lambda: team(1))

    @app.agent("decide", accepts=Text, hands_to={"write": Text})
    def decide(text: Text, ctx: bp.SyncContext) -> bp.Handoff[Text]:
        ctx.spend(cost=0.25)
        return ctx.hand_off("write", Text(text=f"{text.text}, again"))

    return app


async def test_a_loop_through_all_frameworks_is_parked_with_its_path_and_what_it_spent(calls: list[str]) -> None:
    async with serving(chain()) as coordinator:
        job = await coordinator.submit("triage", Text(text="x"), guard=bp.Guard(repeats=2))
        info = await reached(job, bp.JobState.FAILED)
        assert info.reason == "chain_guard"
        path = "triage -> (write -> review -> decide) x3"
        assert f"not passed on to 'decide', 3 rounds in a row are more than repeats=2: {path}" in str(info.error)
        assert calls == ["graph", "graph", *["crew", "team"] * 3]
        assert info.spent == bp.Spent(2 * GRAPH + 3 * CREW + 3 * TEAM, 2 * 0.25)

        await coordinator.redrive(job.id, guard=bp.Guard(repeats=2, hops=10))
        assert "3 rounds in a row" in str((await reached(job, bp.JobState.FAILED)).error)
        await coordinator.redrive(job.id, guard=bp.Guard(hops=12, repeats=5))
        info = await reached(job, bp.JobState.FAILED)
        assert "13 hops are more than hops=12" in str(info.error)
        assert calls == ["graph", "graph", *["crew", "team"] * 4]


@pytest.mark.parametrize(
    ("kind", "factory", "each", "all_of_it"),
    [
        ("langgraph", lambda: graph("one", "two", "three"), GRAPH, 3 * GRAPH),
        ("crewai", lambda: crew("one", "two", "three"), CREW, 3 * CREW),
        ("autogen", lambda: team(3), TEAM, 2 + 3 + 4),
    ],
    ids=["langgraph", "crew", "autogen"],
)
async def test_over_budget_a_framework_stops_and_goes_on_from_there(
    kind: str, factory: Callable[[], Any], each: int, all_of_it: int, calls: list[str]
) -> None:
    """Its models are not asked again for what they had answered."""
    app = bp.App("one")
    app.agent("a", accepts=Text, returns=Text, kind=kind, isolation="task")(factory)
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Text(text="x"), returns=Text, guard=bp.Guard(tokens=each - 1))
        info = await reached(job, bp.JobState.FAILED)
        assert (info.reason, len(calls)) == ("chain_guard", 1)
        assert f"tokens spent: {each} of {each - 1}" in str(info.error)
        await coordinator.redrive(job.id, guard=bp.Guard(tokens=each))
        info = await reached(job, bp.JobState.FAILED)
        assert (info.reason, len(calls)) == ("chain_guard", 2)
        await coordinator.redrive(job.id, guard=bp.Guard(tokens=None))
        assert (await job.result(timeout=DEADLINE)).text.startswith("a ")
        assert len(calls) == 3
        assert (await job.info()).spent == bp.Spent(all_of_it)
