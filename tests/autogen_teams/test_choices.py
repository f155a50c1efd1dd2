"""A team's own function chooses who speaks: once for each turn, however often that turn runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.teams import SelectorGroupChat

import batonpass as bp
from batonpass.testing import serving

from ..apps.autogen_app import Draft, Report, ScriptedModel, says, speaker
from ..apps.autogen_kit import only
from ..apps.kit import question

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


class Choices:
    """Chooses another one each time that it is asked, as a clock or a ticket system would."""

    def __init__(self, *names: str | None) -> None:
        self.names = [*names]
        self.made = 0

    def __call__(self, thread: Sequence[Any]) -> str | None:
        self.made += 1
        return self.names[self.made - 1]

    def several(self, thread: Sequence[Any]) -> list[str]:
        return [str(self(thread))]

    async def later(self, thread: Sequence[Any]) -> str | None:
        await anyio.lowlevel.checkpoint()
        return self(thread)


def members() -> list[Any]:
    return [speaker("A", says("a {turn}")), UserProxyAgent("boss")]


def team(**options: Any) -> SelectorGroupChat:
    return SelectorGroupChat(members(), ScriptedModel("chair", says("A")), max_turns=2, **options)


@pytest.mark.parametrize(
    "given",
    [
        lambda choices: {"selector_func": choices},
        lambda choices: {"selector_func": choices.later},
        lambda choices: {"candidate_func": choices.several},
    ],
)
async def test_an_answer_goes_to_whom_it_was_asked_for(given: Callable[[Choices], dict[str, Any]]) -> None:
    choices = Choices("boss", "A", "boss")
    async with serving(only(lambda: team(**given(choices)))) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        assert (await question(job))["to"] == "boss"
        await job.answer("granted")
        assert await job.result(timeout=30) == Report(body="a 1")
    assert choices.made == 2


async def test_a_choice_is_left_to_the_model_again() -> None:
    choices = Choices(None, "boss", "boss")
    async with serving(only(lambda: team(selector_func=choices))) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        assert (await question(job))["text"] == "a 1"
        await job.answer("granted")
        assert await job.result(timeout=30) == Report(body="granted")


async def test_a_wrong_choice_is_made_again_by_the_next_attempt() -> None:
    choices = Choices("nobody", "A", "A")
    async with serving(only(lambda: team(selector_func=choices), retries=bp.Retry(attempts=2, first=0))) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        assert await job.result(timeout=30) == Report(body="a 2")
    assert choices.made == 3


class Name(StrEnum):
    A = "A"
    BOSS = "boss"


@pytest.mark.parametrize(
    "given", [{"selector_func": lambda _: Name.A}, {"candidate_func": lambda _: {Name.A: 1}.keys()}]
)
async def test_names_may_be_of_other_classes(given: dict[str, Any]) -> None:
    assert await only(lambda: team(**given)).run("a", Draft(text="go"), timeout=30) == Report(body="a 2")


async def test_a_choice_is_made_again_about_what_was_edited() -> None:
    def chosen(thread: Sequence[Any]) -> str:
        return "broken" if "refund" in thread[0].to_text() else "A"

    def broken(turn: int, messages: Sequence[Any]) -> str:
        raise ValueError("no such customer")

    def both() -> SelectorGroupChat:
        several: list[Any] = [speaker("A", says("a {turn}")), speaker("broken", broken)]
        return SelectorGroupChat(several, ScriptedModel("chair", says("A")), max_turns=2, selector_func=chosen)

    async with serving(only(both, retries=1, memory="thread")) as coordinator:
        job = await coordinator.submit("a", Draft(text="refund"))
        with pytest.raises(bp.JobFailed, match="no such customer"):
            await job.result(timeout=30)
        await coordinator.redrive(job.id, changes={"messages[0].content": "repair"})
        assert await job.result(timeout=30) == Report(body="a 2")
