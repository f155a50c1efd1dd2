"""What goes wrong in a team: the job shows what was raised, once, and the log shows where."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import anyio
import pytest
from autogen_agentchat.agents import AssistantAgent, SocietyOfMindAgent
from autogen_agentchat.conditions import FunctionalTermination
from autogen_agentchat.teams import (
    BaseGroupChat,
    DiGraphBuilder,
    GraphFlow,
    MagenticOneGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
)
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import FunctionCall

import batonpass as bp
from batonpass.testing import serving

from ..apps.autogen_app import Chief, Draft, Report, Score, ScriptedModel, called, last, says, speaker
from ..apps.autogen_kit import only
from ..apps.kit import labels, outcome

FRAMES = 25  # an error in a graph's node has 16
pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


def away(*_: Any) -> NoReturn:
    raise ConnectionError("the model is away")


def pair() -> list[Any]:
    return [speaker("A", says("x")), speaker("B", says("y"))]


def member() -> Any:
    return speaker("A", away)


def society() -> Any:
    inner = RoundRobinGroupChat([speaker("A", away)], max_turns=1)
    return RoundRobinGroupChat([SocietyOfMindAgent("S", inner, ScriptedModel("S", says("x")))], max_turns=1)


def inner_condition() -> BaseGroupChat:
    inner = RoundRobinGroupChat(pair(), termination_condition=FunctionalTermination(away), name="inner")
    return RoundRobinGroupChat([inner], max_turns=1)


def selector() -> BaseGroupChat:
    return SelectorGroupChat(pair(), model_client=ScriptedModel("chair", away), max_turns=2)


def magentic() -> BaseGroupChat:
    return MagenticOneGroupChat(pair(), model_client=ScriptedModel("chief", away))


def edge() -> BaseGroupChat:
    a, b = pair()
    graph = DiGraphBuilder().add_node(a).add_node(b).add_edge(a, b, condition=away).build()
    return GraphFlow([a, b], graph=graph)


@pytest.mark.parametrize("shape", [member, society, inner_condition, selector, magentic, edge])
async def test_an_error_is_told_as_it_was_raised_and_once(
    shape: Callable[[], Any], caplog: pytest.LogCaptureFixture
) -> None:
    one = only(shape, retries=bp.Retry(never=ConnectionError))
    with pytest.raises(bp.JobFailed) as failed:
        await one.run("a", Draft(text="go"), timeout=30)
    assert failed.value.reason == "permanent"
    said = r"ConnectionError: the model is away \(tests/autogen_teams/test_errors.py:\d+ in away\)"
    assert re.fullmatch(said, failed.value.error)
    [told] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert told.name == "batonpass.worker"
    text = caplog.handler.format(told)
    assert "in away" in text
    assert text.count('File "') < FRAMES
    assert "_single_threaded_agent_runtime" not in text


async def test_an_error_that_the_team_went_on_after_is_not_told_for_another() -> None:
    def asks(turn: int, messages: Any) -> str | list[FunctionCall]:
        if turn == 1:
            return [FunctionCall(id="1", name="expert", arguments='{"task": "?"}')]
        raise TimeoutError("too slow")

    def team() -> AssistantAgent:
        return speaker("A", asks, tools=[AgentTool(speaker("expert", away))], max_tool_iterations=2)

    with pytest.raises(bp.JobFailed, match="TimeoutError: too slow"):
        await only(team, retries=1).run("a", Draft(text="go"), timeout=30)


async def test_an_error_of_the_job_ends_the_attempt_even_inside_a_team_tool() -> None:
    """AutoGen gives its text to the tool's caller."""
    tried: list[str] = []

    def later(turn: int, messages: Any) -> str:
        tried.append("x")
        if len(tried) < 2:
            raise bp.RetryLater(0.01)
        return "known"

    def asks(turn: int, messages: Any) -> str | list[FunctionCall]:
        return last(messages) if turn > 1 else [FunctionCall(id="1", name="office", arguments='{"task": "?"}')]

    def team() -> AssistantAgent:
        office = RoundRobinGroupChat([speaker("clerk", later)], max_turns=1)
        tool = TeamTool(office, name="office", description="knows", return_value_as_last_message=True)
        return speaker("A", asks, tools=[tool], max_tool_iterations=2)

    assert "known" in (await only(team).run("a", Draft(text="go"), returns=Report, timeout=30)).body


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("rejects", [True, False])
async def test_who_manages_a_team_may_end_the_attempt(start: bool, rejects: bool) -> None:
    """AutoGen waits forever for a manager that raises something else when its call is cancelled."""
    raised: list[str] = []

    def choose(thread: Sequence[Any]) -> str:
        if len(raised) < 1 and (start or len(thread) > 1):
            raised.append("once")
            if rejects:
                bp.current().reject("not for us")
            raise bp.RetryLater(0.01)
        return "AB"[len(thread) % 2]

    def team() -> BaseGroupChat:
        return SelectorGroupChat(pair(), ScriptedModel("chair", says("A")), selector_func=choose, max_turns=2)

    async with serving(only(team)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        await until_ended(job)
        assert (await job.info()).state == (bp.JobState.REJECTED if rejects else bp.JobState.COMPLETED)


async def until_ended(job: bp.Job[Any]) -> None:
    with anyio.fail_after(20):
        while not (await job.info()).state.ended:
            await anyio.sleep(0.01)


@pytest.mark.parametrize("of", ["selector", "member", "tool", "inner"])
async def test_a_model_that_fails_when_it_is_canceled_frees_the_slot(of: str) -> None:
    """A client does that if its connection is closed while it waits."""
    asked = anyio.Event()

    class Closed(ScriptedModel):
        async def create(self, messages: Any, **_: Any) -> Any:
            asked.set()
            try:
                await anyio.sleep_forever()
            finally:
                raise ConnectionError("closed")

    def team() -> BaseGroupChat:
        selector = SelectorGroupChat(pair(), Closed("chair", says("A")), max_turns=2, name="selector")
        asking = AssistantAgent("asking", Closed("asking", says("A")))
        teams: dict[str, BaseGroupChat] = {
            "selector": selector,
            "member": RoundRobinGroupChat([asking], max_turns=1),
            "tool": RoundRobinGroupChat([speaker("A", calls, tools=[AgentTool(asking)])], max_turns=1),
            "inner": RoundRobinGroupChat([selector], max_turns=1),
        }
        return teams[of]

    def calls(turn: int, messages: Any) -> list[FunctionCall]:
        return [FunctionCall(id="1", name="asking", arguments='{"task": "?"}')]

    with anyio.fail_after(20):
        async with serving(only(team)) as coordinator:  # its end waits for what still runs
            job = await coordinator.submit("a", Draft(text="go"))
            await asked.wait()
            await job.cancel()
            with pytest.raises(bp.JobCanceled):
                await job.result(timeout=10)


@pytest.mark.parametrize("error", [None, ConnectionError("the model is away")])
async def test_only_the_answer_that_a_member_failed_at_is_asked_again(error: ConnectionError | None, log: Path) -> None:
    """Every attempt and every redrive used to get the same answer again, which is no JSON."""
    asked: list[str] = []

    def look(text: str) -> str:
        """Looks."""
        asked.append("tool")
        return "seen"

    def judge(turn: int, messages: Any) -> str | list[FunctionCall]:
        if turn == 1:
            return [called("look", "x")]
        asked.append("model")
        if error and asked.count("model") == 1:
            raise error
        return "7 points" if asked.count("model") == 1 else '{"points": 7, "reason": "fine"}'

    def team() -> BaseGroupChat:
        judging = speaker("judge", judge, tools=[look], output_content_type=Score, max_tool_iterations=2)
        return RoundRobinGroupChat([speaker("A", says("x")), judging], max_turns=2)

    one = only(team, Score, retries=bp.Retry(first=0.01))
    assert await outcome(one, Draft(text="go")) == Score(points=7, reason="fine")
    assert (labels(log), asked) == (["A:1", "judge:1", "judge:2", "judge:2"], ["tool", "model", "model"])


async def test_an_answer_that_who_manages_a_team_fails_at_is_asked_for_anew(log: Path) -> None:
    class Unclear(Chief):
        asked = 0

        def ledger(self, done: int) -> str:
            Unclear.asked += 1
            return "not a ledger" if self.asked <= 10 else super().ledger(done)  # AutoGen asks ten times

    def team() -> BaseGroupChat:
        members = [speaker("worker", says("worked {turn}")), speaker("helper", says("helped"))]
        return MagenticOneGroupChat([*members], model_client=Unclear("chief", says("")))

    one = only(team, retries=bp.Retry(first=0.01))
    assert await outcome(one, Draft(text="go")) == Report(body="final after 3")
    ran = labels(log)
    assert (ran.count("chief:plan1:0"), ran.count("chief:ledger:0"), ran.count("worker:1")) == (1, 11, 1)
