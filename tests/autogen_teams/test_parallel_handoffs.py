"""Nodes of a GraphFlow that run side by side: whoever of them hands off to a person, that person is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff as ToMember
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow
from autogen_core.models import CreateResult, LLMMessage

import batonpass as bp
from batonpass.testing import serving

from ..apps.autogen_app import Draft, Report, Script, ScriptedModel, hands_to, says
from ..apps.autogen_kit import only
from ..apps.kit import question

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


class Slow(ScriptedModel):
    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        await anyio.sleep(0.1)
        return await super().create(messages, **options)


def node(name: str, script: Script, to: str = "", *, slow: bool = False) -> AssistantAgent:
    model = (Slow if slow else ScriptedModel)(name, script)
    return AssistantAgent(name, model, system_message=None, handoffs=[ToMember(target=to)] if to else None)


def heard(_: int, messages: Sequence[LLMMessage]) -> str:
    return " / ".join(message.content for message in messages if isinstance(message.content, str))


def asks(to: str) -> Script:
    return lambda *_: hands_to(to)


def graph(left: AssistantAgent, right: AssistantAgent) -> GraphFlow:
    nodes = [node("start", says("go")), left, right, node("end", heard)]
    builder = DiGraphBuilder()
    for each in nodes:
        builder.add_node(each)
    builder.add_edge("start", "left").add_edge("start", "right").add_edge("left", "end").add_edge("right", "end")
    return GraphFlow([*nodes], builder.build())


@pytest.mark.parametrize("slow", [False, True])
async def test_it_does_not_matter_who_answers_last(slow: bool) -> None:
    def team() -> GraphFlow:
        return graph(node("left", asks("user"), "user", slow=slow), node("right", says("R"), slow=not slow))

    async with serving(only(team)) as coordinator:
        job = await coordinator.submit("a", Draft(text="x"))
        asked = await question(job)
        assert (asked["from"], asked["to"]) == ("left", "user")
        await job.answer("yes")
        ended = await job.result(timeout=20)
        assert ended.model_dump()["body"].endswith(" / yes")


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_two_persons_are_asked_one_after_the_other(store: str, sqlite_url: str) -> None:
    def team() -> GraphFlow:
        return graph(node("left", asks("ann"), "ann"), node("right", asks("bob"), "bob", slow=True))

    app = only(team)
    async with serving(app, "memory://" if store == "memory" else sqlite_url) as coordinator:
        job = await coordinator.submit("a", Draft(text="x"))
        for person in ("ann", "bob"):
            assert (await question(job))["to"] == person
            assert [item.assignee for item in await coordinator.inbox()] == [person]
            await job.answer(f"{person} says yes")
        ended = await job.result(timeout=20)
        assert ended.model_dump()["body"].endswith(" / ann says yes / bob says yes")


async def test_a_handoff_to_an_agent_ends_the_team_when_the_person_has_answered() -> None:
    def team() -> GraphFlow:
        return graph(node("left", asks("b"), "b"), node("right", asks("ann"), "ann", slow=True))

    app = bp.App("two")

    def leave(result: Any) -> bp.Handoff[Report]:
        assert result.stop_reason == "Handoff to b."
        return bp.Handoff("b", Report(body=result.messages[-1].to_text()))

    app.autogen("a", accepts=Draft, hands_to={"b": Report}, leave=leave, retries=1)(team)
    app.agent("b", accepts=Report, returns=Report)(lambda given: given)
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Draft(text="x"))
        assert (await question(job))["to"] == "ann"
        await job.answer("yes")
        assert await job.result(timeout=20) == Report(body="yes")
