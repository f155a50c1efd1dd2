"""Tools and workbenches with a state: each job has its own, and a crash leaves it as it was."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import pytest
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_agentchat.tools import AgentTool
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import LLMMessage
from autogen_core.tools import StaticStreamWorkbench, StaticWorkbench, ToolOverride

import batonpass as bp

from ..apps.autogen_app import Draft, Report, says, speaker
from ..apps.autogen_kit import only
from ..apps.autogen_states import Basket, By, Counter, Quiet, Remote, Total, counts

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


class Away(Counter):
    """Its first call is cut off half-way through its work."""

    def __init__(self, cut_off: list[str]) -> None:
        super().__init__()
        self.cut_off = cut_off

    async def run(self, args: By, cancellation_token: CancellationToken) -> Total:
        total = await super().run(args, cancellation_token)
        if not self.cut_off and args.by == 1:
            self.cut_off.append("once")
            raise bp.RetryLater(0.01)
        return total


def count(by: int) -> int:
    """Keeps nothing."""
    return by


def team(**options: Any) -> RoundRobinGroupChat:
    return RoundRobinGroupChat([speaker("A", says("x"), **options)], max_turns=1)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: {"tools": [Counter()]}, "the tool 'count'"),
        (lambda: {"workbench": StaticWorkbench([Counter()])}, "the tool 'count'"),
        (lambda: {"workbench": Basket()}, "a Basket"),
    ],
)
async def test_what_keeps_a_state_is_not_shared_by_jobs(make: Callable[[], dict[str, Any]], named: str) -> None:
    shared = make()
    one = only(lambda: team(**shared))
    assert await one.run("a", Draft(text="go"), timeout=30) == Report(body="x")
    with pytest.raises(bp.JobFailed, match=rf"agent 'a' returned {named}, which another run has used.* new") as failed:
        await one.run("a", Draft(text="go"), timeout=30)
    assert failed.value.reason == "refused"


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"tools": [count]},
        lambda: {"tools": [Quiet()]},
        lambda: {"workbench": StaticWorkbench([Quiet()])},
        lambda: {"workbench": Remote()},
    ],
)
async def test_what_keeps_nothing_is_shared(make: Callable[[], dict[str, Any]]) -> None:
    shared = make()
    one = only(lambda: team(**shared))
    for _ in range(2):
        assert await one.run("a", Draft(text="go"), timeout=30) == Report(body="x")


async def test_of_two_calls_at_once_only_the_one_that_was_cut_off_counts_again() -> None:
    cut_off: list[str] = []

    def factory() -> Any:
        return speaker("A", counts, tools=[Away(cut_off)], max_tool_iterations=3)

    assert await only(factory).run("a", Draft(text="go"), timeout=30) == Report(body="7")
    assert cut_off


class Relay(StaticStreamWorkbench):
    """Its streamed calls are its plain ones."""

    async def call_tool_stream(self, *args: Any, **options: Any) -> AsyncGenerator[Any]:
        yield await self.call_tool(*args, **options)


async def test_a_call_may_be_part_of_another_one() -> None:
    def factory() -> Any:
        return speaker("A", counts, workbench=Relay([Counter()]), max_tool_iterations=3)

    assert await only(factory).run("a", Draft(text="go"), timeout=30) == Report(body="7")


async def test_tools_that_go_by_another_name_keep_their_state_too() -> None:
    """With AutoGen's `tool_overrides=`, a model knows a tool (or an agent used as one) by another name."""
    cut_off: list[str] = []

    def asks(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        if turn < 3:
            return [called("tally", '{"by": 4}', turn), called("clerk", '{"task": "?"}', turn)]
        if not cut_off:
            cut_off.append("once")
            raise bp.RetryLater(0.01)
        return "asked"

    def called(name: str, arguments: str, turn: int) -> FunctionCall:
        return FunctionCall(id=f"{name} {turn}", name=name, arguments=arguments)

    def factory() -> Any:
        expert = AgentTool(speaker("expert", says("answer {turn}")), return_value_as_last_message=True)
        names = {"count": ToolOverride(name="tally"), "expert": ToolOverride(name="clerk")}
        bench = StaticWorkbench([Counter(), expert], names)
        chief = speaker("A", asks, workbench=bench, max_tool_iterations=3)
        again = speaker(
            "B", lambda *_: [called("clerk", '{"task": "?"}', 9), called("tally", '{"by": 1}', 9)], workbench=bench
        )
        return RoundRobinGroupChat([chief, again], max_turns=2)

    assert await only(factory).run("a", Draft(text="go"), timeout=30) == Report(body='answer 3\n{"total": 9}')
