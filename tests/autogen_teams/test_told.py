"""A team that is told a conversation (`transcript=True`, a fork, a fallback) answers whoever speaks first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import Handoff as ToMember
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import (
    BaseGroupChat,
    DiGraphBuilder,
    GraphFlow,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_core.models import LLMMessage

import batonpass as bp
from batonpass.testing import serving

from ..apps.autogen_app import Draft, Report, ScriptedModel, hands_to, says, speaker
from ..apps.kit import question

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


def heard(_: int, messages: Sequence[LLMMessage]) -> str:
    return " / ".join(str(message.content) for message in messages)


def texts(result: Any) -> Report:
    return Report(body=" | ".join(f"{message.source}: {message.to_text()}" for message in result.messages))


def line(team: Callable[[], BaseGroupChat], **options: Any) -> bp.App:
    """`front` says "noted", and hands its conversation to the team."""
    app = bp.App("line")

    def on(result: Any, ctx: bp.Context) -> bp.Handoff[Draft]:
        assert isinstance(ctx.payload, Draft)
        return bp.Handoff("team", Draft(text=f"re {ctx.payload.text}"), transcript=True)

    app.autogen("front", accepts=Draft, hands_to={"team": Draft}, leave=on)(lambda: speaker("front", says("noted")))
    app.autogen("team", accepts=Draft, returns=Report, retries=1, leave=texts, **options)(team)
    return app


def ring() -> BaseGroupChat:
    return RoundRobinGroupChat([UserProxyAgent("boss"), speaker("B", heard)], max_turns=2)


def chosen() -> BaseGroupChat:
    members = [speaker("B", heard), UserProxyAgent("boss")]
    return SelectorGroupChat(
        [*members],
        ScriptedModel("chair", says("")),
        selector_func=lambda thread: "B" if len(thread) > 1 else "boss",
        max_turns=2,
    )


def graph(*order: int) -> BaseGroupChat:
    nodes = [UserProxyAgent("boss"), speaker("B", heard)]
    builder = DiGraphBuilder().add_node(nodes[0]).add_node(nodes[1]).add_edge(nodes[0], nodes[1])
    return GraphFlow([nodes[place] for place in order], builder.build())


@pytest.mark.parametrize("team", [ring, chosen, lambda: graph(0, 1), lambda: graph(1, 0)])
async def test_a_person_who_speaks_first_is_asked_once_and_for_what_the_payload_says(team: Any) -> None:
    async with serving(line(team)) as coordinator:
        job = await coordinator.submit("front", Draft(text="a"))
        assert await question(job) == {"from": "user", "to": "boss", "text": "re a"}
        await job.answer("yes")
        assert await job.result(timeout=20) == Report(body="user: re a | boss: yes | B: a / noted / re a / yes")


async def test_a_person_who_speaks_second_in_a_chat_is_asked_too() -> None:
    def team() -> BaseGroupChat:
        return RoundRobinGroupChat([speaker("B", heard), UserProxyAgent("boss")], max_turns=1)

    async with serving(line(team, memory="thread")) as coordinator:
        first = await coordinator.submit("front", Draft(text="a"), thread="t")
        assert await first.result(timeout=20) == Report(body="user: re a | B: a / noted / re a")
        job = await coordinator.submit("front", Draft(text="b"), thread="t")
        assert (await question(job))["text"] == "re b"
        await job.answer("yes")
        assert await job.result(timeout=20) == Report(body="user: re b | boss: yes")


def swarm() -> Swarm:
    """`triage` hands to `billing`, which stays with the conversation."""
    members = [
        speaker("triage", lambda *_: hands_to("billing"), handoffs=["billing"]),
        speaker("billing", says("billing {turn} END"), handoffs=[ToMember(target="triage")]),
    ]
    return Swarm([*members], termination_condition=TextMentionTermination("END"))


@pytest.mark.parametrize("nested", [False, True])
async def test_a_swarm_goes_on_with_the_member_that_had_the_conversation(nested: bool) -> None:
    def team() -> BaseGroupChat:
        return RoundRobinGroupChat([swarm()], max_turns=1) if nested else swarm()

    async with serving(line(team, memory="thread")) as coordinator:
        said: list[str] = []
        for text in "ab":
            job = await coordinator.submit("front", Draft(text=text), thread="t", returns=Report)
            said.append((await job.result(timeout=20)).body)
    assert said[0].endswith("END")
    assert "triage" in said[0]
    assert said[1].startswith("user: re b | billing: billing ")
