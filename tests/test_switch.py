"""A job that goes on in another framework: by a fork, a handoff with its transcript, a fallback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

import anyio
import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import LLMMessage
from crewai import Agent, BaseLLM, Crew, Task
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

import batonpass as bp
from batonpass.adapters.langgraph.transcript import to_langchain
from batonpass.contracts.transcript import Message, Transcript
from batonpass.contracts.transcript_loops import UNFINISHED

from .apps.autogen_app import ScriptedModel

Graph = StateGraph[Any, None, Any, Any]
pytestmark = [
    pytest.mark.capability("langgraph", "crewai", "autogen"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


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


@pytest.fixture(autouse=True)
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What each model was told, by framework."""
    monkeypatch.setenv("BATONPASS_TEST_LOG", str(tmp_path / "evidence.log"))
    SEEN.clear()
    return SEEN


SEEN: dict[str, Any] = {}


def research() -> Any:
    """A graph that does a tool loop, and then waits for a review of what others make of it."""

    def gate(state: Any) -> Any:
        answer = interrupt("who goes on?")
        later = Transcript.load(answer["transcript"]).messages[len(state["messages"]) :]
        return {"messages": to_langchain(later), "body": answer["body"]}

    return loop_before(gate)


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


def desk() -> bp.App:
    app = bp.App("switch")
    app.langgraph("research", accepts=Topic, returns=Draft)(research)

    def to_review(result: Any, ctx: bp.Context) -> bp.Handoff[Draft]:
        return bp.Handoff("review", Draft(body=result.raw), transcript=True)

    app.crewai("write", accepts=Topic, hands_to={"review": Draft}, leave=to_review)(writers)
    app.autogen("review", accepts=Draft, returns=Review)(reviewers)
    return app


@asynccontextmanager
async def serving(served: bp.App, url: str = "memory://") -> AsyncIterator[bp.Coordinator]:
    async with bp.connect(url, app=served) as coordinator, served.worker(coordinator):
        yield coordinator


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


async def stopped(coordinator: bp.Coordinator, job: bp.Job[Any]) -> str:
    """The checkpoint at which a job waits for an answer."""
    await happened(coordinator, job, "batonpass.job.suspended")
    return await tip(job)


@pytest.mark.parametrize("url", ["memory", "sqlite", "redis"])
async def test_langgraph_crewai_autogen_and_back_with_all_messages_equal(
    url: str, request: pytest.FixtureRequest, seen: dict[str, Any]
) -> None:
    store = "memory://" if url == "memory" else request.getfixturevalue(f"{url}_url")
    async with serving(desk(), store) as coordinator:
        first = await coordinator.submit("research", Topic(text="streams"))
        second = await coordinator.fork(await stopped(coordinator, first), agent="write")
        assert await second.result(timeout=20) == Review(body="approved")

        transcript = await coordinator.transcript(await tip(second))
        await first.answer({"transcript": transcript.dump(), "body": "approved"})
        assert (await first.result(timeout=20)).body == "PUBLISHED approved"
        # Each of them was told of the tool loop, in its own framework's words.
        assert [(m["role"], m.get("tool_call_id")) for m in seen["crewai"]] == [
            ("system", None),
            *(("user", None), ("assistant", None), ("tool", "tc1"), ("tool", "tc2"), ("assistant", None)),
            ("user", None),
        ]
        assert [type(message).__name__ for message in seen["autogen"]] == [
            "SystemMessage",
            *("UserMessage", "AssistantMessage", "FunctionExecutionResultMessage", "FunctionExecutionResultMessage"),
            *("AssistantMessage", "UserMessage", "AssistantMessage", "UserMessage"),
        ]
        assert [result.is_error for m in seen["autogen"][3:5] for result in m.content] == [False, True]
        # And all is there again where it began.
        ended = await coordinator.transcript(await tip(first))
        assert list(map(said, ended.messages)) == list(map(said, transcript.messages))
        back = to_langchain(ended.messages)
        assert back[:6] == BEFORE
        assert [(m.type, m.name, m.text) for m in back[6:]] == [
            ("human", None, seen["crewai"][-1]["content"]),
            ("ai", "writer", "a draft"),
            ("human", "user", "a draft"),
            ("ai", "reviewer", "approved"),
        ]
        submitted = await happened(coordinator, second, "batonpass.job.submitted")
        assert json.loads(submitted["lost"]) == {
            "system message": 1,
            "id": 5,
            "result's failed": 2,
            "usage": 1,
            "langchain response_metadata": 1,
            "langchain artifact": 1,
        }


# A stopped or failed job goes on with another agent


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


async def test_a_failed_job_goes_on_at_a_plain_function(seen: dict[str, Any]) -> None:
    async with serving(half_done_desk()) as coordinator:
        failed = await coordinator.submit("research", Topic(text="streams"))
        with pytest.raises(bp.JobFailed):
            await failed.result(timeout=20)
        at = await tip(failed)
        job = await coordinator.fork(at, agent="plain", key="k")
        assert await job.result(timeout=20) == Draft(body="streams: 3")
        transcript: Transcript = seen["plain"]
        assert transcript == await coordinator.transcript(at)
        assert (transcript.framework, transcript.agent, transcript.checkpoint) == ("langgraph", "research", at)
        assert transcript.variables == {"text": "streams"}
        assert [(work.kind, work.name) for work in (*transcript.completed, *transcript.pending)] == [
            ("node", "ask"),
            ("node", "tools"),
        ]
        assert (await coordinator.fork(at, agent="plain", key="k")).id == job.id


@pytest.mark.parametrize("agent", ["write", "review"])
async def test_a_tool_loop_is_never_cut_in_its_middle(agent: str, seen: dict[str, Any]) -> None:
    async with serving(half_done_desk()) as coordinator:
        failed = await coordinator.submit("research", Topic(text="streams"))
        with pytest.raises(bp.JobFailed):
            await failed.result(timeout=20)
        job = await coordinator.fork(await tip(failed), agent=agent)
        await job.result(timeout=20)
        submitted = await happened(coordinator, job, "batonpass.job.submitted")
        assert json.loads(submitted["lost"])["unfinished call"] == 1
    if agent == "write":
        [closed] = [m for m in seen["crewai"] if m.get("tool_call_id") == "tc2"]
        assert closed["content"] == UNFINISHED
    else:
        [closed] = [r for m in seen["autogen"] for r in getattr(m, "content", ()) if getattr(r, "call_id", "") == "tc2"]
        assert (closed.content, closed.is_error) == (UNFINISHED, True)


async def test_an_edited_state_is_what_arrives(seen: dict[str, Any]) -> None:
    async with serving(half_done_desk()) as coordinator:
        failed = await coordinator.submit("research", Topic(text="streams"))
        with pytest.raises(bp.JobFailed):
            await failed.result(timeout=20)
        new = [{"type": "human", "content": "pubsub?", "id": "h-9"}]
        job = await coordinator.fork(await tip(failed), changes={"messages": new, "text": "pubsub"}, agent="plain")
        assert await job.result(timeout=20) == Draft(body="pubsub: 1")
        assert [message.text for message in seen["plain"].messages] == ["pubsub?"]


async def test_a_state_that_fits_no_payload_asks_for_one() -> None:
    app = half_done_desk()
    app.agent("other", accepts=Draft, returns=Draft)(lambda draft: draft)
    async with serving(app) as coordinator:
        failed = await coordinator.submit("research", Topic(text="streams"))
        with pytest.raises(bp.JobFailed):
            await failed.result(timeout=20)
        with pytest.raises(bp.ContractViolation, match="Give payload="):
            await coordinator.fork(await tip(failed), agent="other")
        job = await coordinator.fork(await tip(failed), agent="other", payload=Draft(body="mine"))
        assert await job.result(timeout=20) == Draft(body="mine")


# Back into LangGraph from others


async def test_a_crews_and_a_teams_conversation_go_on_in_a_graph() -> None:
    def count(state: Any) -> Any:
        return {"body": " ".join(message.type for message in state["messages"])}

    app = desk()
    graph: Graph = StateGraph(Desk)
    graph.add_node("count", count)
    graph.add_edge(START, "count")
    app.langgraph("count", accepts=Topic, returns=Draft)(lambda: graph)
    async with serving(app) as coordinator:
        job = await coordinator.submit("write", Topic(text="streams"))
        await job.result(timeout=20)
        at = await tip(job)
        counted = await coordinator.fork(at, agent="count", payload=Topic(text="x"))
        assert await counted.result(timeout=20) == Draft(body="human ai human ai")
        there = await coordinator.transcript(await tip(counted))
        before = await coordinator.transcript(at)
        # Also what LangChain can't say of them.
        assert there.messages == before.messages
        assert before.messages[3].usage is not None
        assert before.messages[3].native["autogen chat"].more["created_at"]


# Handing off with a transcript


async def test_a_plain_function_hands_the_transcript_on() -> None:
    app = half_done_desk()

    @app.agent("pass on", accepts=Topic, hands_to={"plain": Topic})
    def pass_on(topic: Topic, ctx: bp.SyncContext) -> bp.Handoff[Topic]:
        ctx.step("look", lambda: 7)
        return ctx.hand_off("plain", topic, transcript=topic.text == "with")

    async with serving(app) as coordinator:
        for text, length, done in (("with", 3, [("node", "ask"), ("step", "look")]), ("without", 0, [])):
            failed = await coordinator.submit("research", Topic(text=text))
            with pytest.raises(bp.JobFailed):
                await failed.result(timeout=20)
            job = await coordinator.fork(await tip(failed), agent="pass on")
            assert await job.result(timeout=20) == Draft(body=f"{text}: {length}")
            assert [(work.kind, work.name) for work in SEEN["plain"].completed] == done


@pytest.mark.parametrize("kind", ["function", "autogen"])
async def test_a_resumed_hop_has_its_transcript_still(kind: str) -> None:
    app = half_done_desk()
    failures = [OSError("no network")]

    def step() -> int:
        if failures:
            raise failures.pop()
        return 1

    @app.agent("function", accepts=Topic, returns=Draft)
    async def function(topic: Topic, ctx: bp.Context) -> Draft:
        await ctx.step("first", lambda: 0)
        await ctx.step("second", step)
        return Draft(body=str(len(ctx.transcript.messages)))

    def team() -> RoundRobinGroupChat:
        def member(name: str) -> AssistantAgent:
            return AssistantAgent(name, ScriptedModel(name, lambda turn, seen: say(name, seen)), system_message=None)

        def say(name: str, messages: Sequence[LLMMessage]) -> str:
            return "one" if name == "one" else f"{step()} {len(messages)}"

        return RoundRobinGroupChat([member("one"), member("two")], max_turns=2)

    app.autogen("autogen", accepts=Topic, returns=Draft)(team)
    async with serving(app) as coordinator:
        failed = await coordinator.submit("research", Topic(text="streams"))
        with pytest.raises(bp.JobFailed):
            await failed.result(timeout=20)
        job = await coordinator.fork(await tip(failed), agent=kind)
        # Three inherited messages and the closed call; the task; and what one said.
        assert await job.result(timeout=20) == Draft(body="3" if kind == "function" else "1 6")
        assert (await job.info()).attempt == 2


# Fallback


async def test_a_job_goes_on_at_the_fallback_when_attempts_run_out(seen: dict[str, Any]) -> None:
    async with serving(half_done_desk(fallback="plain")) as coordinator:
        job = await coordinator.submit("research", Topic(text="streams"))
        assert await job.result(timeout=20) == Draft(body="streams: 3")
        assert (await job.info()).path == ("research", "plain")
        handed = await happened(coordinator, job, "batonpass.job.handed_off")
        assert (handed["sender"], handed["agent"], handed["reason"]) == ("research", "plain", "fallback")
        assert handed["error"] == "OSError: no network"
        assert handed["checkpoint"] == seen["plain"].checkpoint


@pytest.mark.parametrize("url", ["sqlite", "redis"])
async def test_a_fallback_in_another_framework_says_what_is_lost(url: str, request: pytest.FixtureRequest) -> None:
    async with serving(half_done_desk(fallback="write"), request.getfixturevalue(f"{url}_url")) as coordinator:
        job = await coordinator.submit("research", Topic(text="streams"))
        assert await job.result(timeout=20) == Draft(body="a draft")
        handed = await happened(coordinator, job, "batonpass.job.handed_off")
        assert json.loads(handed["lost"])["unfinished call"] == 1


async def test_agents_that_stand_in_for_each_other_fail_in_the_end() -> None:
    app = bp.App("circle")

    def fails(topic: Topic) -> Draft:
        raise OSError("no network")

    for name, other in (("one", "two"), ("two", "one")):
        declared: dict[str, Any] = {"accepts": Topic, "returns": Draft, "retries": 1, "fallback": other}
        declare: Any = app.agent(name, **declared)
        declare(fails)
    async with serving(app) as coordinator:
        job = await coordinator.submit("one", Topic(text="x"))
        with pytest.raises(bp.JobFailed, match="no network") as caught:
            await job.result(timeout=20)
        assert caught.value.reason == "attempts"
        assert (await job.info()).path == ("one", "two")


async def test_a_fallback_that_nobody_knows_leaves_a_dead_letter(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(half_done_desk(fallback="nobody")) as coordinator:
        job = await coordinator.submit("research", Topic(text="x"))
        with pytest.raises(bp.JobFailed, match="no network"):
            await job.result(timeout=20)
        assert "can't go on at the fallback of agent 'research'" in caplog.text


async def test_a_violation_is_no_case_for_the_fallback() -> None:
    app = bp.App("violating")

    @app.agent("wrong", accepts=Topic, returns=Draft, fallback="right")
    def wrong(topic: Topic) -> Any:
        return None

    app.agent("right", accepts=Topic, returns=Draft)(lambda topic: Draft(body="right"))
    async with serving(app) as coordinator:
        job = await coordinator.submit("wrong", Topic(text="x"))
        with pytest.raises(bp.JobFailed, match="did you forget return"):
            await job.result(timeout=20)


def test_fallbacks_that_can_not_work_are_refused() -> None:
    app = bp.App("bad")
    with pytest.raises(bp.BadSetup, match="its own fallback"):
        app.agent("a", accepts=Topic, returns=Draft, fallback="a")(lambda topic: topic)
    app.agent("b", accepts=Topic, returns=Draft, fallback="c")(lambda topic: topic)
    app.agent("c", accepts=Draft, returns=Draft)(lambda draft: draft)
    with pytest.raises(bp.BadSetup, match=r"its fallback 'c' switch\.draft@1: a fallback accepts the same"):
        app.check()
