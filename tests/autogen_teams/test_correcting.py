"""A team whose result does not fit the contract is told what is wrong and goes on, instead of beginning again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import HandoffTermination, MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow, RoundRobinGroupChat, SelectorGroupChat, Swarm
from autogen_core.models import LLMMessage

import batonpass as bp

from ..apps.autogen_app import ScriptedModel, hands_to
from ..workers.serving import reached

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


class Ask(bp.Contract, name="correcting.ask"):
    text: str


class Price(bp.Contract, name="correcting.price"):
    amount: int
    currency: str


Reply = Callable[[int, Sequence[LLMMessage]], str]


def member(reply: Reply, name: str = "clerk", **more: Any) -> AssistantAgent:
    return AssistantAgent(name, ScriptedModel(name, reply), **more)


TEAMS: dict[str, Callable[[Reply], Any]] = {
    "lone": member,
    "round robin": lambda reply: RoundRobinGroupChat([member(reply)], termination_condition=MaxMessageTermination(2)),
    "selector": lambda reply: SelectorGroupChat(
        [member(reply), member(lambda turn, messages: "x", "other")],
        ScriptedModel("selector", lambda turn, messages: "clerk"),
        termination_condition=MaxMessageTermination(2),
        allow_repeated_speaker=True,
    ),
    "swarm": lambda reply: Swarm(
        [member(reply, handoffs=[Handoff(target="person")])], termination_condition=MaxMessageTermination(2)
    ),
}


async def run(app: bp.App) -> Any:
    async with bp.connect("memory://", app=app) as coordinator, app.worker(coordinator):
        return await (await coordinator.submit("price", Ask(text="how much?"))).result(timeout=30)


@pytest.mark.parametrize("kind", TEAMS)
async def test_it_is_told_until_its_answer_fits(kind: str, log: Path) -> None:
    answers = ["nine euros", '{"amount": "nine", "currency": "EUR"}', '{"amount": 9, "currency": "EUR"}']
    heard: list[str] = []

    def reply(turn: int, messages: Sequence[LLMMessage]) -> str:
        heard.append(str(messages[-1].content))
        return answers[len(heard) - 1]

    app = bp.App("correcting")
    app.autogen("price", accepts=Ask, returns=Price, retries=1)(lambda: TEAMS[kind](reply))
    assert await run(app) == Price(amount=9, currency="EUR")
    assert heard[0] == "how much?"
    assert "requires amount, currency" in heard[1]
    assert "amount: " in heard[2]
    assert all('"currency"' in text for text in heard[1:])


async def test_it_is_told_three_times_and_no_more() -> None:
    asked: list[int] = []

    def reply(turn: int, messages: Sequence[LLMMessage]) -> str:
        asked.append(turn)
        return "nine euros"

    app = bp.App("stubborn")
    app.autogen("price", accepts=Ask, returns=Price)(lambda: member(reply))
    with pytest.raises(bp.JobFailed, match="amount") as failed:
        await run(app)
    assert (failed.value.reason, len(asked)) == ("contract", 4)


def graph(reply: Reply) -> GraphFlow:
    clerk = member(reply)
    return GraphFlow([clerk], DiGraphBuilder().add_node(clerk).build())


@pytest.mark.parametrize(("team", "leave"), [(graph, None), (member, lambda result, ctx: Price.model_validate({}))])
async def test_what_can_not_go_on_or_has_its_own_way_out_fails_at_once(team: Any, leave: Any) -> None:
    asked: list[int] = []

    def reply(turn: int, messages: Sequence[LLMMessage]) -> str:
        asked.append(turn)
        return "nine euros"

    app = bp.App("once")
    app.autogen("price", accepts=Ask, returns=Price, leave=leave, retries=1)(lambda: team(reply))
    with pytest.raises(bp.JobFailed):
        await run(app)
    assert len(asked) == 1


async def test_an_answer_that_had_ended_the_team_is_read_then() -> None:
    def reply(turn: int, messages: Sequence[LLMMessage]) -> Any:
        if turn == 1:
            return hands_to("person")
        [said] = [str(message.content) for message in messages if "STOP" in str(message.content)]
        return f'{{"amount": {said.split()[1]}, "currency": "EUR"}}'

    def team() -> RoundRobinGroupChat:
        ends = HandoffTermination("person") | TextMentionTermination("STOP")
        return RoundRobinGroupChat([member(reply, handoffs=["person"])], termination_condition=ends)

    app = bp.App("corrected")
    app.autogen("price", accepts=Ask, returns=Price, retries=1)(team)
    async with bp.connect("memory://", app=app) as coordinator, app.worker(coordinator):
        job = await coordinator.submit("price", Ask(text="how much?"), returns=Price)
        await reached(job, bp.JobState.INPUT_REQUIRED)
        await job.answer("STOP 42")
        assert await job.result(timeout=30) == Price(amount=42, currency="EUR")
