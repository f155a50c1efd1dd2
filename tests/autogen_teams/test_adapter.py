"""The AutoGen adapter through the real thing: a worker, a store, teams with scripted models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from autogen_agentchat.agents import (
    AssistantAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
    SocietyOfMindAgent,
    UserProxyAgent,
)
from autogen_agentchat.base import TaskResult
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.messages import StructuredMessage, TextMessage
from autogen_agentchat.teams import (
    BaseGroupChat,
    DiGraphBuilder,
    GraphFlow,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_core import FunctionCall
from autogen_core.models import LLMMessage

import batonpass as bp
from batonpass.testing import serving

from ..apps.autogen_app import (
    ANSWERS,
    EXPECTED,
    INPUT,
    STEPS,
    Draft,
    Report,
    Score,
    ScriptedModel,
    app,
    hands_to,
    last,
    says,
    speaker,
)
from ..apps.autogen_kit import only, steps
from ..apps.kit import labels, question

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


TIMELINES = {
    "review": ["author", "critic", "author", "critic"],
    "panel": ["sceptic", "optimist", "judge"],
    "desk": ["triage", "billing", "closing"],
    "refund": ["triage", "billing", "billing", "closing"],
    "guided": ["planner", "ask human", "human", "planner", "ask human", "human"],
    "pipeline": ["plan", "left+right", "join"],
    "lookup": ["counter"],
    "search": ["seeker", "checker"],
    "society": ["office", "boss"],
    "magentic": ["MagenticOneGroupChat"],
}


@pytest.mark.parametrize("name", TIMELINES)
async def test_each_shape_gives_its_result_and_a_checkpoint_per_turn(name: str, sqlite_url: str, log: Path) -> None:
    async with serving(app, sqlite_url) as coordinator:
        job = await coordinator.submit(name, INPUT[name])
        for answer in ANSWERS.get(name, []):
            await question(job)
            await job.answer(answer)
        result = await job.result(timeout=30)
        assert result.model_dump() == EXPECTED[name]
        assert labels(log) == STEPS[name]
        assert await steps(coordinator, job) == TIMELINES[name]


async def test_a_checkpoint_holds_the_conversation() -> None:
    async with serving(app) as coordinator:
        job = await coordinator.submit("pipeline", INPUT["pipeline"])
        await job.result(timeout=30)
        checkpoint = await coordinator.latest(thread=job.id)
    assert checkpoint is not None
    assert checkpoint.framework == "autogen"
    assert [message["source"] for message in checkpoint.state["messages"]] == ["user", "plan", "left", "right", "join"]


async def test_a_handoff_to_the_user_waits_for_the_answer(sqlite_url: str, log: Path) -> None:
    async with serving(app, sqlite_url) as coordinator:
        job = await coordinator.submit("refund", INPUT["refund"])
        asked = await question(job)
        assert (asked["from"], asked["to"]) == ("billing", "user")
        assert labels(log) == ["triage:1", "billing:1"]
    async with serving(app, sqlite_url) as coordinator:
        again = coordinator.job(job.id)
        await again.answer("granted")
        assert (await again.result(timeout=30)).model_dump() == EXPECTED["refund"]
        assert labels(log) == STEPS["refund"]


async def test_a_swarm_in_a_team_goes_on_with_who_asked() -> None:
    def asks(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        return hands_to("human") if turn == 1 else f"heard {' '.join(str(m.content) for m in messages[-2:])}"

    def team() -> BaseGroupChat:
        inner = Swarm([speaker("clerk", asks, handoffs=["human"])], name="inner", max_turns=1)
        return RoundRobinGroupChat([inner, speaker("boss", says("go on"))], max_turns=3)

    async with serving(only(team)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        assert (await question(job))["from"] == "clerk"
        await job.answer("granted")
        assert await job.result(timeout=30) == Report(body="heard granted go on")


async def test_a_proxy_of_the_user_asks_through_the_job_and_not_on_standard_input() -> None:
    async with serving(app) as coordinator:
        job = await coordinator.submit("guided", INPUT["guided"])
        assert await question(job) == {"from": "planner", "to": "human", "text": "plan 1?"}
        await job.answer("no")
        assert await question(job) == {"from": "planner", "to": "human", "text": "plan 2?"}
        await job.answer({"approved": True})
        assert await job.result(timeout=30) == Report(body='{"approved": true}')


async def test_proxies_that_ask_in_the_same_turn_are_answered_one_after_the_other() -> None:
    def team() -> BaseGroupChat:
        start, end = speaker("start", says("who?")), speaker("end", lambda _, messages: heard(messages))
        left, right = UserProxyAgent("left"), UserProxyAgent("right")
        builder = DiGraphBuilder()
        for node in (start, left, right, end):
            builder.add_node(node)
        builder.add_edge(start, left).add_edge(start, right).add_edge(left, end).add_edge(right, end)
        return GraphFlow([start, left, right, end], graph=builder.build())

    def heard(messages: Any) -> str:
        return " ".join(sorted(str(message.content) for message in messages[-2:]))

    async with serving(only(team)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        asked = (await question(job))["to"]
        await job.answer(f"{asked} says x")
        other = (await question(job))["to"]
        await job.answer(f"{other} says y")
        assert {asked, other} == {"left", "right"}
        assert await job.result(timeout=30) == Report(body=" ".join(sorted([f"{asked} says x", f"{other} says y"])))


async def test_a_second_visit_starts_with_a_fresh_team(log: Path) -> None:
    two = bp.App("two")

    @two.autogen("write", accepts=Draft, hands_to={"check": Report})
    def write() -> Any:
        return speaker("writer", says("try {turn}"))

    @two.agent("check", accepts=Report, returns=Report, hands_to={"write": Draft})
    async def check(report: Report, ctx: bp.Context) -> Report | bp.Handoff[Draft]:
        return report if ctx.hop > 2 else ctx.hand_off("write", Draft(text="again"))

    async with serving(two) as coordinator:
        job = await coordinator.submit("write", Draft(text="go"))
        assert await job.result(timeout=30) == Report(body="try 1")
        assert labels(log) == ["writer:1", "writer:1"]


async def test_a_handoff_to_another_agent_of_the_app_ends_the_team() -> None:
    desk = bp.App("desk")

    @desk.autogen("triage", accepts=Draft, hands_to={"close": Draft}, leave=lambda result, ctx: onward(result))
    def triage() -> BaseGroupChat:
        return Swarm([speaker("A", lambda *_: hands_to("close"), handoffs=["close"])], max_turns=9)

    def onward(result: TaskResult) -> bp.Handoff[Draft]:
        return bp.Handoff("close", Draft(text=result.stop_reason or ""))

    @desk.agent("close", accepts=Draft, returns=Report)
    async def close(draft: Draft) -> Report:
        return Report(body=draft.text)

    assert await desk.run("triage", Draft(text="go"), timeout=30) == Report(body="Handoff to close.")


class Trouble:
    """Raises once, in the middle of the piece of work `label`."""

    def __init__(self, label: str = "") -> None:
        self.label = label

    def __call__(self, name: str, text: str, **options: Any) -> Any:
        def script(turn: int, messages: Any) -> str:
            if f"{name}:{turn}" == self.label:
                self.label = ""
                raise ConnectionError("the model is away")
            return text.format(turn=turn)

        return speaker(name, script, **options)


def counted(member: Trouble) -> BaseGroupChat:
    members = [member("A", "a{turn}"), member("B", "b{turn}")]
    return RoundRobinGroupChat([*members], termination_condition=MaxMessageTermination(6))


def limited(member: Trouble) -> BaseGroupChat:
    return RoundRobinGroupChat([member("A", "a{turn}"), member("B", "b{turn}")], max_turns=5)


def chosen(member: Trouble) -> BaseGroupChat:
    members = [member("A", "a{turn}"), member("B", '{{"points": {turn}, "reason": "b"}}', output_content_type=Score)]
    return SelectorGroupChat(
        [*members],
        ScriptedModel("chair", says("A")),
        selector_func=lambda thread: "ABB"[len(thread) % 3],
        max_turns=5,
        custom_message_types=[StructuredMessage[Score]],
    )


def circular(member: Trouble) -> BaseGroupChat:
    nodes = [member(name, f"{name}{{turn}}") for name in "ABCD"]
    builder = DiGraphBuilder()
    for node in nodes:
        builder.add_node(node)
    builder.add_edge("A", "B", activation_group="first").add_edge("B", "C")
    builder.add_edge("C", "B", activation_group="again", condition=lambda message: "C3" not in message.to_text())
    builder.add_edge("C", "D", condition=lambda message: "C3" in message.to_text())
    builder.set_entry_point("A")
    return GraphFlow([*nodes], graph=builder.build(), termination_condition=MaxMessageTermination(20))


def nested(member: Trouble) -> BaseGroupChat:
    inner = RoundRobinGroupChat([member("A", "a{turn}"), member("C", "c{turn}")], name="inner", max_turns=3)
    return RoundRobinGroupChat([inner, member("B", "b{turn}")], max_turns=4)


def parallel(member: Trouble) -> BaseGroupChat:
    """AutoGen asks its condition about only one of the two that run side by side, so it counts to five only at E."""
    nodes = [member(name, f"{name}{{turn}}") for name in "ABCDE"]
    builder = DiGraphBuilder()
    for node in nodes:
        builder.add_node(node)
    for one, other in ("AB", "AC", "BD", "CD", "DE"):
        builder.add_edge(one, other)
    return GraphFlow([*nodes], graph=builder.build(), termination_condition=MaxMessageTermination(5))


def inside(member: Trouble) -> BaseGroupChat:
    """A graph with a cycle, of which its own limit lets one node run in each turn of the team around it."""
    builder = DiGraphBuilder()
    for node in [member(name, f"{name}{{turn}}") for name in "ABC"]:
        builder.add_node(node)
    builder.add_edge("A", "B", activation_group="first").add_edge("B", "C", condition="B3").set_entry_point("A")
    builder.add_edge("B", "A", activation_group="again", condition=lambda message: "B3" not in message.to_text())
    inner = GraphFlow(builder.get_participants(), graph=builder.build(), name="inner", max_turns=1)
    return RoundRobinGroupChat([inner, member("D", "d{turn}")], max_turns=10)


def filtered(member: Trouble) -> BaseGroupChat:
    only_b = MessageFilterConfig(per_source=[PerSourceFilter(source="B", position="last", count=1)])
    return RoundRobinGroupChat(
        [MessageFilterAgent("A", member("A", "a{turn}"), only_b), member("B", "b{turn}")], max_turns=4
    )


@pytest.mark.parametrize(
    ("shape", "label"),
    [
        *((counted, "B:2"), (limited, "A:3"), (chosen, "B:3"), (circular, "B:2")),
        *((parallel, "D:1"), (nested, "A:3"), (filtered, "A:2"), (inside, "D:1")),
    ],
)
async def test_a_resumed_team_says_what_an_undisturbed_one_says(
    shape: Callable[[Trouble], BaseGroupChat], label: str, log: Path
) -> None:
    undisturbed = await shape(Trouble()).run(task="go")
    expected = [(message.source, message.to_text()) for message in undisturbed.messages if hasattr(message, "content")]
    before = Counter(labels(log))
    member = Trouble(label)

    def said(result: TaskResult, ctx: bp.Context) -> Report:
        assert [(message.source, message.to_text()) for message in result.messages] == expected
        return Report(body=result.stop_reason or "")

    async with serving(only(lambda: shape(member), leave=said)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        assert await job.result(timeout=30) == Report(body=undisturbed.stop_reason or "")
    turn = {"A:3", "C:2"} if shape is nested else {label}
    assert set(Counter(labels(log)) - before - before) <= turn


async def test_a_society_keeps_its_memory_when_it_is_resumed() -> None:
    prompts: list[list[str]] = []
    member = Trouble("B:2")

    def society() -> BaseGroupChat:
        def listens(turn: int, messages: Any) -> str:
            prompts.append([str(message.content) for message in messages])
            return "inner"

        inner = RoundRobinGroupChat([speaker("X", listens)], max_turns=1)
        outer = SocietyOfMindAgent("S", inner, ScriptedModel("S", says("summary")))
        return RoundRobinGroupChat([outer, member("B", "b{turn}")], max_turns=5)

    async with serving(only(society)) as coordinator:
        job = await coordinator.submit("a", Draft(text="the task"))
        await job.result(timeout=30)
    assert "the task" in prompts[-1]
    assert len(prompts) == 3


async def test_enter_and_leave_replace_the_defaults() -> None:
    def team() -> Any:
        return speaker("A", lambda _, messages: last(messages).upper())

    def enter(draft: Draft, ctx: bp.Context) -> TextMessage:
        return TextMessage(source="user", content=f"hop {ctx.hop}: {draft.text}")

    async def leave(result: TaskResult, ctx: bp.Context) -> Report:
        return Report(body=result.messages[-1].to_text() + "!")

    result = await only(team, enter=enter, leave=leave).run("a", Draft(text="x"), returns=Report, timeout=30)
    assert result == Report(body="HOP 0: X!")


async def test_a_canceled_job_stops_its_model_at_once() -> None:
    started, stopped = anyio.Event(), anyio.Event()

    class Endless(ScriptedModel):
        async def create(self, messages: Any, **_: Any) -> Any:
            started.set()
            try:
                await anyio.sleep_forever()
            finally:
                stopped.set()

    def team() -> BaseGroupChat:
        member = AssistantAgent("A", Endless("A", says("")))
        return RoundRobinGroupChat([RoundRobinGroupChat([member], max_turns=1, name="inner")], max_turns=1)

    async with serving(only(team)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        with anyio.fail_after(15):
            await started.wait()
            await job.cancel()
            await stopped.wait()
        with pytest.raises(bp.JobCanceled):
            await job.result(timeout=10)


async def test_an_error_of_a_member_comes_out_as_it_was_raised() -> None:
    async with serving(only(lambda: Trouble("A:1")("A", ""), retries=1)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        with pytest.raises(bp.JobFailed, match="ConnectionError: the model is away"):
            await job.result(timeout=30)
