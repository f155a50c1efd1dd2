"""Which set-ups and results of an AutoGen agent are refused, and with which words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import util
from typing import Any

import pytest
from autogen_agentchat.agents import (
    AssistantAgent,
    UserProxyAgent,
)
from autogen_agentchat.base import TerminationCondition
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import (
    BaseGroupChat,
    RoundRobinGroupChat,
    SelectorGroupChat,
)
from autogen_agentchat.tools import AgentTool
from autogen_core import FunctionCall, SingleThreadedAgentRuntime

import batonpass as bp
from batonpass.adapters.autogen import AutoGenAdapter
from batonpass.adapters.autogen import adapter as adapter_module
from batonpass.testing import serving

from ..apps.autogen_app import (
    Draft,
    Report,
    Score,
    ScriptedModel,
    hands_to,
    last,
    says,
    speaker,
)
from ..apps.autogen_kit import only
from ..apps.kit import question

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


@pytest.mark.parametrize(
    ("factory", "complaint"),
    [
        (lambda: None, "the factory of agent 'a' returned NoneType: return an AutoGen team"),
        (lambda: RoundRobinGroupChat, "the factory of agent 'a' returned the class RoundRobinGroupChat: return an"),
        (lambda: RoundRobinGroupChat([speaker("A", says("x"))]), "would never end: give it termination_condition="),
        (
            lambda: RoundRobinGroupChat(
                [RoundRobinGroupChat([UserProxyAgent("human")], name="inner", max_turns=1)], max_turns=1
            ),
            "'human' would read standard input",
        ),
        (
            lambda: RoundRobinGroupChat([speaker("A", says("x"))], max_turns=1, runtime=SingleThreadedAgentRuntime()),
            "without runtime=",
        ),
    ],
)
async def test_a_factory_that_can_not_be_run_fails_the_job_and_says_why(
    factory: Callable[[], Any], complaint: str
) -> None:
    async with serving(only(factory)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        with pytest.raises(bp.JobFailed, match=complaint):
            await job.result(timeout=30)


async def test_a_team_that_has_run_before_is_refused() -> None:
    team = RoundRobinGroupChat([speaker("A", says("x"))], max_turns=1)
    await team.run(task="x")
    with pytest.raises(bp.JobFailed, match="build a new one"):
        await only(lambda: team).run("a", Draft(text="go"), timeout=30)


@pytest.mark.parametrize(
    "build",
    [
        lambda agent, ends: agent,
        lambda agent, ends: RoundRobinGroupChat([agent], max_turns=1),
        lambda agent, ends: speaker("B", says("x"), model_context=agent.model_context),
        lambda agent, ends: RoundRobinGroupChat([speaker("B", says("x"), tools=[AgentTool(agent)])], max_turns=1),
        lambda agent, ends: RoundRobinGroupChat([speaker("B", says("x"))], termination_condition=ends),
        lambda agent, ends: RoundRobinGroupChat(
            [speaker("B", says("x"))], termination_condition=MaxMessageTermination(2) | ends
        ),
    ],
)
async def test_what_another_job_has_used_is_refused(build: Callable[..., Any]) -> None:
    """Otherwise a model is told what another job's user said, and a condition has already seen another job's end."""
    agent, ends = speaker("shared", says("turn {turn}")), TextMentionTermination("turn")
    made = iter([RoundRobinGroupChat([agent], termination_condition=ends)])
    one = only(lambda: next(made, None) or build(agent, ends))
    assert await one.run("a", Draft(text="go"), timeout=30) == Report(body="turn 1")
    with pytest.raises(bp.JobFailed, match=r"agent 'a' returned .* another run has used.* Build a new one") as failed:
        await one.run("a", Draft(text="go"), timeout=30)
    assert failed.value.reason == "refused"


@pytest.mark.parametrize(
    ("text", "task", "complaint"),
    [
        ("no score", "go", "requires points, reason"),
        ('{"points": "many", "reason": "x"}', "go", "points: Input should be a valid integer"),
        ("x", "it is APPROVED", "stopped before anybody spoke: Text 'APPROVED' mentioned"),
    ],
)
async def test_a_result_that_does_not_fit_fails_the_job_with_the_fields(text: str, task: str, complaint: str) -> None:
    def team() -> BaseGroupChat:
        done = MaxMessageTermination(2) | TextMentionTermination("APPROVED")
        return RoundRobinGroupChat([speaker("A", lambda *_: text)], termination_condition=done)

    with pytest.raises(bp.JobFailed, match=complaint) as failed:
        await only(team, returns=Score).run("a", Draft(text=task), timeout=30)
    assert failed.value.reason == "contract"


@dataclass(frozen=True)
class Never(TerminationCondition):
    """A condition that is a frozen dataclass, and has no state."""

    why: str = "never"

    @property
    def terminated(self) -> bool:
        return False

    async def __call__(self, messages: Any) -> None: ...

    async def reset(self) -> None: ...


async def test_a_condition_may_be_frozen() -> None:
    def factory() -> Any:
        return RoundRobinGroupChat([speaker("A", says("x"))], termination_condition=Never(), max_turns=1)

    async with serving(only(factory)) as coordinator:
        job = await coordinator.submit("a", Draft(text="rain"))
        assert (await job.result(timeout=60)).body == "x"


async def test_a_lone_agent_may_ask_too() -> None:
    def lone() -> Any:
        def asks(turn: int, messages: Any) -> str | list[FunctionCall]:
            return hands_to("boss") if turn == 1 else f"the boss said {last(messages)}"

        return speaker("A", asks, handoffs=["boss"])

    async with serving(only(lone)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        assert (await question(job))["to"] == "boss"
        await job.answer("yes")
        assert await job.result(timeout=30) == Report(body="the boss said yes")


@pytest.mark.parametrize(
    ("installed", "hint"), [((), "not installed: pip"), (("autogen",), "is AG2"), (("ag2",), "AG2")]
)
def test_a_missing_framework_is_named_with_the_command(
    installed: tuple[str, ...], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter_module, "find_spec", lambda name: util.find_spec("json") if name in installed else None)
    with pytest.raises(bp.MissingExtra, match=hint) as missing:
        AutoGenAdapter()
    assert "pip install 'batonpass[autogen]'" in str(missing.value)


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        ("ABCD", "RoundRobinGroupChat has the members A, B, C, D, and had A, B, C"),
        ("AC", "RoundRobinGroupChat has the members A, C, and had A, B, C"),  # C went on in the place of B
        ("A", "RoundRobinGroupChat has the members A, and had A, B, C"),
        ("kind", "it is a SelectorGroupChat, and was another kind of team"),
        ("inner", "inner has the members A, D, and had A, C, D"),
        ("class", "KeyError: 'count'"),
    ],
)
async def test_a_team_that_is_not_the_one_of_its_checkpoint_says_what_to_do(now: str, reason: str) -> None:
    class Counts(AssistantAgent):
        async def load_state(self, state: Mapping[str, Any]) -> None:
            assert state["count"]

    def fails(turn: int, messages: Any) -> str:
        raise ConnectionError("away")

    def ring(names: str, **more: Any) -> BaseGroupChat:
        members = [speaker(name, fails if name == "B" else says("x")) for name in names]
        return RoundRobinGroupChat([*members], max_turns=2, **more)

    def around(names: str) -> BaseGroupChat:
        return RoundRobinGroupChat([ring(names, name="inner"), speaker("last", fails)], max_turns=2)

    def counting() -> BaseGroupChat:
        own = Counts("B", ScriptedModel("B", says("x")))
        return RoundRobinGroupChat([speaker("A", says("x")), own, speaker("C", says("x"))], max_turns=2)

    def selecting() -> BaseGroupChat:
        return SelectorGroupChat(
            [speaker(name, says("x")) for name in "ABC"], ScriptedModel("D", says("A")), max_turns=2
        )

    others: dict[str, Callable[[], BaseGroupChat]] = {
        "kind": selecting,
        "class": counting,
        "inner": lambda: around("AD"),
    }
    releases = iter([around("ACD") if now == "inner" else ring("ABC"), others.get(now, lambda: ring(now))()])
    with pytest.raises(bp.JobFailed, match=rf"its checkpoint \({reason}\): put the members back") as failed:
        await only(lambda: next(releases)).run("a", Draft(text="go"), timeout=30)
    assert failed.value.reason == "refused"


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        ("xpwz", "RoundRobinGroupChat has the members x, p, w, z, and had w, x, p, z"),
        ("asker", "the person's answer to 'p' was not asked for again"),
    ],
)
async def test_a_persons_answer_is_not_lost_with_a_new_release(now: str, reason: str) -> None:
    """Somebody else would speak in the place of the one who asked."""

    def ring(names: str, asks: str = "p") -> BaseGroupChat:
        members = [UserProxyAgent(name) if name == asks else speaker(name, says(name)) for name in names]
        return RoundRobinGroupChat([*members], max_turns=5)

    others = {"xpwz": lambda: ring("xpwz"), "asker": lambda: ring("wxpz", "nobody")}
    old = only(lambda: ring("wxpz"), retries=1, leave=lambda result: Report(body=result.messages[-3].to_text()))
    new = only(others[now], retries=1, leave=lambda result: Report(body="none"))
    async with bp.connect("memory://", app=old) as coordinator:
        async with old.worker(coordinator):
            job = await coordinator.submit("a", Draft(text="go"))
            assert (await question(job))["to"] == "p"
        async with new.worker(coordinator):
            await job.answer("mine")
            with pytest.raises(bp.JobFailed, match=reason) as refused:
                await job.result(timeout=30)
            assert refused.value.reason == "refused"
        await coordinator.redrive(job.id)
        async with old.worker(coordinator):
            assert await job.result(timeout=30) == Report(body="mine")


async def test_an_inner_team_keeps_its_order_too() -> None:
    def fails(turn: int, messages: Any) -> str:
        raise ConnectionError("away")

    def around(names: str) -> BaseGroupChat:
        inner = RoundRobinGroupChat([speaker(name, says("x")) for name in names], name="inner", max_turns=1)
        return RoundRobinGroupChat([inner, speaker("last", fails)], max_turns=2)

    releases = iter([around("AB"), around("BA")])
    with pytest.raises(bp.JobFailed, match="inner has the members B, A, and had A, B"):
        await only(lambda: next(releases)).run("a", Draft(text="go"), timeout=30)
