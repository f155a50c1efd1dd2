"""A job that goes on in another framework: by a fork, or a handoff with its transcript."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import LLMMessage
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

import batonpass as bp
from batonpass.adapters.langgraph.transcript.messages import to_langchain
from batonpass.contracts.transcript import Transcript
from batonpass.contracts.transcript_loops import UNFINISHED
from batonpass.testing import serving

from .apps.autogen_app import ScriptedModel
from .apps.switch_desk import (
    BEFORE,
    SEEN,
    Desk,
    Draft,
    Graph,
    Review,
    Topic,
    half_done_desk,
    happened,
    loop_before,
    reviewers,
    said,
    tip,
    writers,
)

pytestmark = [
    pytest.mark.usefixtures("log", "seen"),
    pytest.mark.capability("langgraph", "crewai", "autogen"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def research() -> Any:
    """A graph that does a tool loop, and then waits until somebody reviews what others make of it."""

    def gate(state: Any) -> Any:
        answer = interrupt("who goes on?")
        later = Transcript.load(answer["transcript"]).messages[len(state["messages"]) :]
        return {"messages": to_langchain(later), "body": answer["body"]}

    return loop_before(gate)


def desk() -> bp.App:
    app = bp.App("switch")
    app.langgraph("research", accepts=Topic, returns=Draft)(research)

    def to_review(result: Any, ctx: bp.Context) -> bp.Handoff[Draft]:
        return bp.Handoff("review", Draft(body=result.raw), transcript=True)

    app.crewai("write", accepts=Topic, hands_to={"review": Draft}, leave=to_review)(writers)
    app.autogen("review", accepts=Draft, returns=Review)(reviewers)
    return app


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
        # Each was told of the tool loop, in its own framework's words.
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
        # And where it began, everything is there again.
        ended = await coordinator.transcript(await tip(first))
        assert list(map(said, ended.messages)) == list(map(said, transcript.messages))
        back = to_langchain(ended.messages)
        assert back[:6] == BEFORE
        assert [(m.type, m.name, m.text) for m in back[6:]] == [
            ("human", None, "Write on streams\n\nThis is the expected criteria for your final answer: x"),
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


async def test_an_edited_conversation_arrives_beside_a_payload(seen: dict[str, Any]) -> None:
    """The checkpoint's state is no payload; a team's never is."""
    async with serving(desk()) as coordinator:
        job = await coordinator.submit("review", Draft(body="a draft"))
        await job.result(timeout=20)
        at = await tip(job)
        [asked, answered] = (await coordinator.restore(at)).state["messages"]
        edit = {"messages": [asked, {**answered, "content": "too long"}]}
        with pytest.raises(bp.ContractViolation, match="Give payload="):
            await coordinator.fork(at, changes=edit, agent="review")
        again = await coordinator.fork(at, changes=edit, agent="review", payload=Draft(body="a shorter one"))
        await again.result(timeout=20)
        assert [message.content for message in seen["autogen"][1:]] == ["a draft", "too long", "a shorter one"]


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
        # Also what LangChain's messages have no field for.
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
        # Three inherited messages and the closed call, the task, and an answer.
        assert await job.result(timeout=20) == Draft(body="3" if kind == "function" else "1 6")
        assert (await job.info()).attempt == 2
