"""`memory="job"`: a job that comes back to an agent finds its framework's state as it was left."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict

import anyio
import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import LLMMessage
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

import batonpass as bp
from batonpass.adapters.langgraph.transcript.messages import to_langchain
from batonpass.testing import serving

from .apps.autogen_app import ScriptedModel
from .apps.switch_desk import BEFORE, Desk, Draft, Graph, Topic, loop_before, said, tip, writers

pytestmark = [
    pytest.mark.usefixtures("log", "seen"),
    pytest.mark.capability("langgraph", "crewai", "autogen"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def research() -> Any:
    """A graph that does a tool loop, hands its job off in the middle, and goes on when the job is back."""

    def gate(state: Any) -> Any:
        back = interrupt(bp.Handoff("write", Topic(text=state["text"]), transcript=True))
        told = bp.current().transcript.messages
        return {"messages": to_langchain(told[len(state["messages"]) :]), "body": back.text}

    return loop_before(gate)


def approve(turn: int, messages: Sequence[LLMMessage]) -> str:
    return "approved"


def reviewers(*, answer: Callable[[int, Sequence[LLMMessage]], Any] = approve) -> RoundRobinGroupChat:
    return RoundRobinGroupChat([AssistantAgent("reviewer", ScriptedModel("reviewer", answer))], max_turns=1)


def desk() -> bp.App:
    app = bp.App("trip")
    app.langgraph("research", accepts=Topic, returns=Draft, hands_to={"write": Topic}, memory="job")(research)

    def to_review(result: Any, ctx: bp.Context) -> bp.Handoff[Draft]:
        return bp.Handoff("review", Draft(body=result.raw), transcript=True)

    def back(result: Any, ctx: bp.Context) -> bp.Handoff[Topic]:
        return bp.Handoff("research", Topic(text=result.messages[-1].content), transcript=True)

    app.crewai("write", accepts=Topic, hands_to={"review": Draft}, leave=to_review)(writers)
    app.autogen("review", accepts=Draft, hands_to={"research": Topic}, leave=back)(reviewers)
    return app


@pytest.mark.parametrize("url", ["memory", "sqlite", "redis"])
async def test_one_job_goes_from_langgraph_over_crewai_and_autogen_back_into_its_graph(
    url: str, request: pytest.FixtureRequest, seen: dict[str, Any]
) -> None:
    store = "memory://" if url == "memory" else request.getfixturevalue(f"{url}_url")
    async with serving(desk(), store) as coordinator:
        job = await coordinator.submit("research", Topic(text="streams"))
        assert (await job.result(timeout=30)) == Draft(body="PUBLISHED approved")
        assert (await job.info()).path == ("research", "write", "review", "research")
        # Nothing of the graph ran twice, and the failed tool call is still marked as failed.
        timeline = await coordinator.timeline((await job.info()).thread)
        steps = [each.step for each in reversed(timeline) if each.framework == "langgraph"]
        assert steps == ["input", "ask", "tools", "sum", "gate hands off", "gate", "publish"]
        ended = await coordinator.transcript(await tip(job))
        back = to_langchain(ended.messages)
        assert back[:6] == BEFORE
        assert [(m.type, m.name, m.text) for m in back[6:]] == [
            ("human", None, "Write on streams\n\nThis is the expected criteria for your final answer: x"),
            ("ai", "writer", "a draft"),
            ("human", "user", "a draft"),
            ("ai", "reviewer", "approved"),
        ]
        # The event of a handoff says what it could not take along.
        lost = [
            json.loads(event.data["lost"])
            for event in [event async for event in coordinator.events(job=job.id)]
            if event.type == "batonpass.job.handed_off" and "lost" in event.data
        ]
        assert lost[0] == {
            "system message": 1,
            "id": 5,
            "result's failed": 2,
            "usage": 1,
            "langchain response_metadata": 1,
            "langchain artifact": 1,
        }
        # And the messages that came back are those of the reviewer's checkpoint.
        review = next(each for each in timeline if each.agent == "review")
        told = await coordinator.transcript(review.id)
        assert list(map(said, ended.messages)) == list(map(said, told.messages))


class Chat(TypedDict, total=False):
    text: str
    messages: Annotated[list[AnyMessage], add_messages]


def echoing(app: bp.App, to: str) -> None:
    @app.agent("echo", accepts=Draft, hands_to={to: Topic})
    async def echo(draft: Draft, ctx: bp.Context) -> bp.Handoff[Topic]:
        return ctx.hand_off(to, Topic(text=f"{draft.body}, heard"), transcript=bool(ctx.transcript.messages))


async def test_a_graph_that_had_ended_goes_on_with_its_messages() -> None:
    def hear(state: Any) -> Any:
        return {"messages": [HumanMessage(state["text"])]}

    def answer(state: Any) -> Any:
        return {"messages": [AIMessage(f"answer {len(state['messages'])}")]}

    def leave(result: Any, ctx: bp.Context) -> Any:
        body = " ".join(message.text for message in result["messages"])
        return Draft(body=body) if ctx.hop else bp.Handoff("echo", Draft(body=result["text"]))

    def talk() -> Any:
        graph: Graph = StateGraph(Chat)
        graph.add_node("hear", hear)
        graph.add_node("answer", answer)
        return graph.add_edge(START, "hear").add_edge("hear", "answer")

    for memory, expected in (("job", "a answer 1 a, heard answer 3"), ("hop", "a, heard answer 1")):
        app = bp.App("talking")
        options: Any = {"leave": leave, "memory": memory}
        app.langgraph("talk", accepts=Topic, returns=Draft, hands_to={"echo": Draft}, **options)(talk)
        echoing(app, "talk")
        async with serving(app) as coordinator:
            job = await coordinator.submit("talk", Topic(text="a"))
            assert await job.result(timeout=20) == Draft(body=expected)


async def test_a_graph_passes_its_job_on_again_and_again() -> None:
    def gate(state: Any) -> Any:
        first = interrupt(bp.Handoff("echo", Draft(body=state["text"])))
        second = interrupt(bp.Handoff("echo", Draft(body=first.text)))
        return {"body": second.text}

    def beside(state: Any) -> Any:
        RAN.append("beside")

    def make() -> Any:
        graph: Graph = StateGraph(Desk)
        graph.add_node("gate", gate)
        graph.add_node("beside", beside)
        return graph.add_edge(START, "gate").add_edge(START, "beside")

    RAN.clear()
    app = bp.App("twice")
    app.langgraph("begin", accepts=Topic, returns=Draft, hands_to={"echo": Draft}, memory="job")(make)
    echoing(app, "begin")
    async with serving(app) as coordinator:
        job = await coordinator.submit("begin", Topic(text="a"))
        assert await job.result(timeout=20) == Draft(body="a, heard, heard")
    assert RAN == ["beside"]


async def test_what_a_graph_did_before_it_passed_its_job_on_is_not_done_again() -> None:
    """Its node begins again when the job is back. A later visit, which begins at the graph's start, does it anew."""
    paid, fetched = list[str](), list[int]()

    async def gate(state: Any) -> Any:
        ctx = bp.current()
        await ctx.effect("pay", paid.append, ctx.effect_key("pay"))
        await ctx.step("fetch", fetched.append, 0, key="fetch")
        first = interrupt(bp.Handoff("echo", Draft(body=state["text"])))
        second = interrupt(bp.Handoff("echo", Draft(body=first.text)))
        return {"body": second.text}

    def make() -> Any:
        graph: Graph = StateGraph(Desk)
        return graph.add_node("gate", gate).add_edge(START, "gate")

    def leave(result: Any, ctx: bp.Context) -> Any:
        draft = Draft(body=result["body"])
        return draft if ctx.hop > 4 else bp.Handoff("echo", draft)

    app = bp.App("once")
    options: Any = {"hands_to": {"echo": Draft}, "memory": "job", "leave": leave}
    app.langgraph("begin", accepts=Topic, returns=Draft, **options)(make)
    echoing(app, "begin")
    async with serving(app) as coordinator:
        job = await coordinator.submit("begin", Topic(text="a"))
        await job.result(timeout=20)
    assert paid == [f"{job.id}.0.pay", f"{job.id}.6.pay"]
    assert fetched == [0, 0]


async def test_a_node_to_which_the_graph_comes_back_does_it_anew() -> None:
    """It had finished before the job was passed on."""
    told: list[int] = []

    async def plan(state: Any) -> Any:
        number = len(told)
        await bp.current().effect("tell", told.append, number)
        return {"body": str(number)}

    def delegate(state: Any) -> Any:
        return {"text": interrupt(bp.Handoff("echo", Draft(body=state["body"]))).text}

    def make() -> Any:
        graph: Graph = StateGraph(Desk)
        graph.add_node("plan", plan).add_node("delegate", delegate)
        graph.add_edge(START, "plan").add_edge("plan", "delegate")
        return graph.add_conditional_edges("delegate", lambda state: END if len(told) > 2 else "plan", ["plan", END])

    app = bp.App("loop")
    app.langgraph("begin", accepts=Topic, returns=Draft, hands_to={"echo": Draft}, memory="job")(make)
    echoing(app, "begin")
    async with serving(app) as coordinator:
        job = await coordinator.submit("begin", Topic(text="a"))
        assert await job.result(timeout=20) == Draft(body="2")
    assert told == [0, 1, 2]


@pytest.mark.parametrize("unsure", ["stop", "repeat"])
async def test_nor_an_effect_whose_result_a_person_told(unsure: Any) -> None:
    paid: list[str] = []

    def pay(key: str) -> str:
        paid.append(key)
        raise OSError("the connection broke")

    async def node(state: Any) -> Any:
        ctx = bp.current()
        receipt = await ctx.effect("pay", pay, ctx.effect_key("pay"), unsure=unsure)
        return {"body": f"{interrupt(bp.Handoff('echo', Draft(body=state['text']))).text}, {receipt}"}

    def make() -> Any:
        graph: Graph = StateGraph(Desk)
        return graph.add_node("node", node).add_edge(START, "node")

    app = bp.App("told")
    app.langgraph("begin", accepts=Topic, returns=Draft, hands_to={"echo": Draft}, memory="job", retries=1)(make)
    echoing(app, "begin")
    async with serving(app) as coordinator:
        job = await coordinator.submit("begin", Topic(text="a"))
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=20)
        await coordinator.redrive(job.id, changes={"effect:pay": "receipt"})
        assert (await job.result(timeout=20)).body.endswith(", receipt")
    assert len(paid) == 1


async def test_nor_if_it_asks_a_person_when_its_job_is_back() -> None:
    paid: list[str] = []

    async def gate(state: Any) -> Any:
        await bp.current().effect("pay", paid.append, state["text"])
        back = interrupt(bp.Handoff("echo", Draft(body=state["text"])))
        return {"body": f"{back.text} {interrupt('sure?')}"}

    def make() -> Any:
        graph: Graph = StateGraph(Desk)
        return graph.add_node("gate", gate).add_edge(START, "gate")

    app = bp.App("asks")
    app.langgraph("begin", accepts=Topic, returns=Draft, hands_to={"echo": Draft}, memory="job")(make)
    echoing(app, "begin")
    async with serving(app) as coordinator:
        job = await coordinator.submit("begin", Topic(text="a"))
        with anyio.fail_after(20):
            while not await coordinator.inbox():
                await anyio.sleep(0.01)
        await coordinator.answer(job.id, "yes")
        assert await job.result(timeout=20) == Draft(body="a, heard yes")
    assert paid == ["a"]


RAN: list[str] = []


async def test_a_team_goes_on_with_its_conversation() -> None:
    heard: list[list[str]] = []

    def answer(turn: int, messages: Sequence[LLMMessage]) -> str:
        heard.append([str(message.content) for message in messages if type(message).__name__ == "UserMessage"])
        return f"answer {len(heard)}"

    def leave(result: Any, ctx: bp.Context) -> Any:
        last = result.messages[-1].content
        return Draft(body=last) if ctx.hop else bp.Handoff("echo", Draft(body=last), transcript=True)

    app = bp.App("team")
    options: Any = {"leave": leave, "memory": "job"}
    app.autogen("talk", accepts=Topic, returns=Draft, hands_to={"echo": Draft}, **options)(
        lambda: reviewers(answer=answer)
    )
    echoing(app, "talk")
    async with serving(app) as coordinator:
        job = await coordinator.submit("talk", Topic(text="a"))
        assert await job.result(timeout=20) == Draft(body="answer 2")
        ended = await coordinator.transcript(await tip(job))
        assert [message.text for message in ended.messages] == ["a", "answer 1", "answer 1, heard", "answer 2"]
    assert heard == [["a"], ["a", "answer 1, heard"]]


async def test_a_handoff_from_within_a_graph_needs_its_memory() -> None:
    app = bp.App("forgetful")
    options: Any = {"leave": lambda result, ctx: Draft(body="x"), "retries": 1}
    app.langgraph("research", accepts=Topic, returns=Draft, hands_to={"write": Topic}, **options)(research)
    app.agent("write", accepts=Topic, returns=Draft)(lambda topic: Draft(body="x"))
    async with serving(app) as coordinator:
        job = await coordinator.submit("research", Topic(text="streams"))
        with pytest.raises(bp.JobFailed, match="memory='job'"):
            await job.result(timeout=20)


@pytest.mark.parametrize("kind", ["function", "crewai"])
def test_kinds_without_a_memory_say_so(kind: str) -> None:
    with pytest.raises(bp.BadSetup, match="starts each visit fresh"):
        bp.App("a").agent("b", kind=kind, accepts=Topic, returns=Draft, memory="job")(lambda topic: Draft(body="x"))
