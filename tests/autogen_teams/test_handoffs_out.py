"""Handoffs to somebody outside of the team: another agent of the app, or a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Handoff as ToMember
from autogen_agentchat.base import Response, TaskResult
from autogen_agentchat.conditions import HandoffTermination, MaxMessageTermination, TextMentionTermination
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow, RoundRobinGroupChat, Swarm
from autogen_agentchat.tools import AgentTool
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import CreateResult, LLMMessage, RequestUsage

import batonpass as bp
from batonpass.testing import serving

from ..apps.autogen_app import Draft, Report, ScriptedModel, hands_to, last, says, speaker
from ..apps.autogen_kit import only
from ..workers.serving import reached

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


class Thoughtful(ScriptedModel):
    """Says something in the reply that also calls a tool, as most models do."""

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
        calls = self.script(1, messages)
        return CreateResult(
            content=calls, finish_reason="function_calls", usage=usage, cached=False, thought="rain is wet"
        )


def to_writer(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
    return hands_to("writer")


async def look() -> str:
    return "found: rain is wet"


def after_a_look(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
    return hands_to("writer") if turn > 1 else [FunctionCall(id="l", name="look", arguments="{}")]


@pytest.mark.parametrize(
    ("member", "text"),
    [
        (lambda: speaker("A", to_writer, handoffs=["writer"]), "Transferred to writer, adopting the role of writer"),
        (lambda: speaker("A", to_writer, handoffs=[ToMember(target="writer", message="write!")]), "write!"),
        (lambda: speaker("A", after_a_look, handoffs=["writer"], tools=[look]), "found: rain is wet"),
        (lambda: thoughtful(ToMember(target="writer")), "rain is wet"),
        (lambda: thoughtful(ToMember(target="writer", message="write!")), "rain is wet\nwrite!"),
    ],
)
async def test_the_next_agent_is_told_what_the_last_one_said(member: Any, text: str) -> None:
    """And not AutoGen's standard sentence, unless nothing else was said."""
    app = bp.App("line")
    app.autogen("a", accepts=Draft, hands_to={"writer": Draft})(lambda: Swarm([member()], max_turns=3))

    @app.agent("writer", accepts=Draft, returns=Report)
    def writer(draft: Draft, ctx: bp.SyncContext) -> Report:
        return Report(body=draft.text)

    told = (await app.run("a", Draft(text="go"), timeout=30)).body
    assert told.startswith(text)
    assert len(told) == len(text) or text.startswith("Transferred")


def thoughtful(handoff: ToMember) -> Any:
    made = speaker("A", to_writer, handoffs=[handoff])
    made._model_client = Thoughtful("A", to_writer)
    return made


def to_person(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
    return hands_to("human")


ENDED = (bp.JobState.COMPLETED, bp.JobState.FAILED)


async def questions_of(*ends: Any) -> int:
    """How many questions a team of two asks whose first member always hands off to a person. At most six."""

    def team() -> RoundRobinGroupChat:
        condition = ends[0]() | MaxMessageTermination(8) if ends else MaxMessageTermination(8)
        members: list[Any] = [speaker("A", to_person, handoffs=["human"]), speaker("B", says("b {turn}"))]
        return RoundRobinGroupChat(members, termination_condition=condition, max_turns=4)

    async with serving(only(team)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        for number in range(6):
            info = await reached(job, bp.JobState.INPUT_REQUIRED, *ENDED)
            if info.state.ended:
                assert info.state == bp.JobState.COMPLETED, info
                return number
            await job.answer(f"yes {number}")
        return 6


async def test_a_question_does_not_begin_a_teams_limits_anew() -> None:
    """It asked again and again, whatever its limits: without a HandoffTermination a handoff does not end it."""
    assert await questions_of() == 2


async def test_unless_the_handoff_ends_the_team() -> None:
    """As in AutoGen, where the answer is the task of another run."""
    assert await questions_of(lambda: HandoffTermination("human")) == 6


@pytest.mark.parametrize("most", [3, 4])
async def test_an_answer_is_read_before_it_can_end_the_team(most: int) -> None:
    def answers(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        return hands_to("human") if turn == 1 else f"done: {last(messages)}"

    def team() -> RoundRobinGroupChat:
        member = speaker("A", answers, handoffs=["human"])
        return RoundRobinGroupChat([member], termination_condition=MaxMessageTermination(most))

    async with serving(only(team)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        await reached(job, bp.JobState.INPUT_REQUIRED)
        await job.answer("yes")
        assert await job.result(timeout=30) == Report(body="done: yes")


async def test_unless_the_question_had_ended_it() -> None:
    def asks(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        return [hands_to("human"), hands_to("chief")][turn - 1]

    def team() -> RoundRobinGroupChat:
        ends = HandoffTermination("chief") | TextMentionTermination("STOP")
        member = speaker("A", asks, handoffs=["human", "chief"])
        return RoundRobinGroupChat([member], termination_condition=ends, max_turns=9)

    def why(result: Any) -> Report:
        return Report(body=f"{result.stop_reason} {result.messages[-1].to_text()}")

    async with serving(only(team, leave=why)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        for answer in ("yes", "STOP"):
            await reached(job, bp.JobState.INPUT_REQUIRED)
            await job.answer(answer)
        assert await job.result(timeout=30) == Report(body="Text 'STOP' mentioned STOP")


async def test_an_answer_counts_where_nodes_run_side_by_side() -> None:
    def team() -> GraphFlow:
        builder = DiGraphBuilder()
        first = speaker("A", to_person, handoffs=["human"])
        others = [speaker("B", says("b")), speaker("C", says("c")), speaker("D", says("d"))]
        for node in (first, *others):
            builder.add_node(node)
        for one, other in ("AB", "AC", "BD", "CD"):
            builder.add_edge(one, other)
        ends = TextMentionTermination("ABORT")
        return GraphFlow(builder.get_participants(), graph=builder.build(), termination_condition=ends)

    async with serving(only(team, leave=lambda result, ctx: Report(body=str(result.stop_reason)))) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        await reached(job, bp.JobState.INPUT_REQUIRED)
        await job.answer("ABORT")
        assert await job.result(timeout=30) == Report(body="Text 'ABORT' mentioned")


async def test_what_a_tool_asks_is_no_node() -> None:
    """An agent that a node's tool asks was taken for a node, and what the node itself said did not count."""

    def uses_tool(turn: int, _: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        return [FunctionCall(id="1", name="expert", arguments='{"task": "do"}')] if turn == 1 else "a"

    def team() -> GraphFlow:
        expert = AgentTool(speaker("expert", says("well")))
        builder = DiGraphBuilder()
        for node in (speaker("A", uses_tool, tools=[expert], max_tool_iterations=2), speaker("B", says("b"))):
            builder.add_node(node)
        builder.add_edge("A", "B")
        ends = MaxMessageTermination(4)
        return GraphFlow(builder.get_participants(), graph=builder.build(), termination_condition=ends)

    alone = await team().run(task="go")
    async with serving(only(team, leave=lambda result, ctx: Report(body=str(result.stop_reason)))) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        assert await job.result(timeout=30) == Report(body=str(alone.stop_reason))


async def test_what_nodes_said_before_the_task_counts() -> None:
    """A conversation in which the graph's own nodes had spoken was taken for the turn of one of them."""

    def team() -> GraphFlow:
        builder = DiGraphBuilder()
        for name in "AB":
            builder.add_node(speaker(name, says("ok {turn}")))
        builder.add_edge("A", "B")
        ends = MaxMessageTermination(5)
        return GraphFlow(builder.get_participants(), graph=builder.build(), termination_condition=ends)

    def enter(payload: Draft, ctx: bp.Context) -> list[TextMessage]:
        return [TextMessage(source=source, content="well") for source in ("user", "A", "B", "user")]

    alone = await team().run(task=enter(Draft(text="go"), None))  # type: ignore[arg-type]
    app = only(team, enter=enter, leave=lambda result, ctx: Report(body=str(result.stop_reason)))
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        assert await job.result(timeout=30) == Report(body=str(alone.stop_reason))
    assert "Maximum number of messages 5" in str(alone.stop_reason)


class Wraps(BaseChatAgent):
    """A node of the user's own: it asks another agent, and shows what that said. `delay` is in seconds."""

    produced_message_types = (TextMessage,)

    def __init__(self, name: str, delay: float, *shown: str) -> None:
        super().__init__(name, "wraps")
        self.delay, self.shown = delay, shown

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        await anyio.sleep(self.delay)
        inner = [TextMessage(content=text, source="helper") for text in self.shown]
        return Response(chat_message=TextMessage(content="w", source=self.name), inner_messages=inner)

    async def on_reset(self, cancellation_token: CancellationToken) -> None: ...


async def test_what_a_node_shows_of_another_is_no_answer() -> None:
    """Of nodes side by side, only what the last one said counts: not what the first one showed before it spoke."""

    def team() -> GraphFlow:
        builder = DiGraphBuilder()
        for node in (speaker("S", says("s")), Wraps("W", 0, "inner"), Wraps("A", 0.3), speaker("C", says("c"))):
            builder.add_node(node)
        for one, other in ("SW", "SA", "WC", "AC"):
            builder.add_edge(one, other)
        ends = MaxMessageTermination(4)
        return GraphFlow(builder.get_participants(), graph=builder.build(), termination_condition=ends)

    def told(result: TaskResult) -> str:
        return f"{result.messages[-1].source}: {result.stop_reason}"

    alone = told(await team().run(task="go"))
    async with serving(only(team, leave=lambda result, ctx: Report(body=told(result)))) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        assert await job.result(timeout=30) == Report(body=alone)
    assert alone.startswith("C")
