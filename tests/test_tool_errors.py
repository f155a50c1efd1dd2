"""The agent that called a tool is told what it raised, unless that concerns the job or is a mistake in the code."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from autogen_core import CancellationToken
from autogen_core.tools import BaseTool
from crewai.tools import tool
from pydantic import BaseModel

import batonpass as bp

from .apps.autogen_app import Draft, called, last, speaker
from .apps.crewai_kit import Crews
from .workers.serving import reached, serving

pytestmark = [
    pytest.mark.capability("crewai", "autogen"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
    pytest.mark.usefixtures("log"),
]

Use = Callable[[bp.SyncContext], Any]
KINDS = pytest.mark.parametrize("kind", ["function", "class", "crew"])


class Told(bp.Contract, name="tool-errors.told"):
    text: str


class Text(BaseModel):
    text: str


def team_with(given: Any) -> Any:
    """A lone agent that calls the tool `act`, and then says what it was told."""
    calls = [called("act", "x")]
    return speaker("A", lambda turn, messages: last(messages) if turn > 1 else calls, tools=[given])


def by_function(use: Use) -> Callable[[], Any]:
    def act(text: str) -> str:
        return str(use(bp.current().sync))

    return lambda: team_with(act)


def by_class(use: Use) -> Callable[[], Any]:
    class Act(BaseTool[Text, Text]):
        def __init__(self) -> None:
            super().__init__(Text, Text, "act", "Acts.")

        async def run(self, args: Text, cancellation_token: CancellationToken) -> Text:
            return Text(text=str(use(bp.current().sync)))

    return lambda: team_with(Act())


def by_crew(crews: Crews, use: Use) -> Callable[[], Any]:
    @tool("act")
    def act(text: str) -> str:
        """Acts."""
        return str(use(bp.current().sync))

    asked: list[str] = []

    def say(said: str) -> str:
        asked.append(said)
        if len(asked) > 1:
            return f"Thought: t\nFinal Answer: {[line for line in said.splitlines() if 'page' in line]}"
        return 'Thought: t\nAction: act\nAction Input: {"text": "x"}'

    crews.script["a"] = say
    return lambda: crews.crew(crews.task("a", tools=[act]))


async def run(kind: str, use: Use, crews: Crews, **options: Any) -> Told:
    """What the agent was told of its tool."""
    app = bp.App("tools")
    made = {"function": by_function(use), "class": by_class(use), "crew": by_crew(crews, use)}[kind]
    declare = app.crewai if kind == "crew" else app.autogen
    declare("a", accepts=Draft, returns=Told, **options)(made)
    return await app.run("a", Draft(text="go"), returns=Told, timeout=20)


def raising(error: Exception) -> Use:
    def use(ctx: bp.SyncContext) -> Any:
        raise error

    return use


ENDING: dict[str, tuple[Use, str]] = {
    "permanent": (raising(bp.RetryLater(1)), "not now"),
    "ambiguous": (raising(bp.Ambiguous("effect 'pay' was begun")), "effect 'pay' was begun"),
    "refused": (lambda ctx: ctx.step("look", str), "needs key= here"),
}


@KINDS
@pytest.mark.parametrize("reason", ENDING)
async def test_what_concerns_the_job_ends_the_attempt(kind: str, reason: str, crews: Crews) -> None:
    use, error = ENDING[reason]
    with pytest.raises(bp.JobFailed, match=error) as failed:
        await run(kind, use, crews, retries=bp.Retry(never=bp.RetryLater))
    assert failed.value.reason == reason


@KINDS
async def test_other_errors_are_told_to_the_agent(kind: str, crews: Crews) -> None:
    assert "no such page" in (await run(kind, raising(ValueError("no such page")), crews)).text


@KINDS
async def test_an_effect_that_may_have_happened_stops_the_job_and_says_what_helps(kind: str, crews: Crews) -> None:
    paid: list[str] = []

    def pay() -> None:
        paid.append("x")
        raise bp.RetryLater(0.01)  # ends the attempt, and nobody knows whether it was done

    with pytest.raises(bp.JobFailed, match=r"with not_done=\['pay'\] \(--not-done pay\)") as failed:
        await run(kind, lambda ctx: ctx.effect("pay", pay), crews)
    assert (failed.value.reason, paid) == ("ambiguous", ["x"])
    assert "redrive the job with changes={'effect:pay': RESULT}" in failed.value.error


@KINDS
@pytest.mark.parametrize("unsure", ["stop", "repeat"])
async def test_an_error_of_an_effect_is_not_for_a_model_to_judge(kind: str, unsure: Any, crews: Crews) -> None:
    """It would go on as if nothing had happened, and the job complete. What may be repeated, it may call again."""
    paid: list[str] = []

    def pay() -> str:
        paid.append("x")
        if len(paid) == 1:
            raise ConnectionError("no page came back")
        return "page"

    def use(ctx: bp.SyncContext) -> Any:
        return ctx.effect("pay", pay, unsure=unsure)

    if unsure == "repeat":
        assert "page" in (await run(kind, use, crews)).text
        return
    with pytest.raises(bp.JobFailed, match=r"the error was ConnectionError: no page came back") as failed:
        await run(kind, use, crews)
    assert (failed.value.reason, paid) == ("ambiguous", ["x"])


@KINDS
async def test_an_error_of_an_effect_that_ends_the_process_when_it_is_looked_at(kind: str, crews: Crews) -> None:
    class Leaving(Exception):
        def __str__(self) -> str:
            raise SystemExit(3)

    def pay() -> None:
        raise Leaving

    with pytest.raises(bp.JobFailed, match=r"the error was Leaving: \(its text can't be read: SystemExit\)") as failed:
        await run(kind, lambda ctx: ctx.effect("pay", pay), crews)
    assert failed.value.reason == "ambiguous"


async def test_a_time_limit_around_an_effect_is_not_for_a_model_to_judge_either() -> None:
    paid: list[str] = []

    async def pay() -> None:
        paid.append("x")
        await asyncio.sleep(60)

    async def act(text: str) -> str:
        async with asyncio.timeout(0.2):
            await bp.current().effect("pay", pay)
        return "paid"

    app = bp.App("limited")
    app.autogen("a", accepts=Draft, returns=Told)(lambda: team_with(act))
    with pytest.raises(bp.JobFailed, match="effect 'pay' started, and its outcome is unknown") as failed:
        await app.run("a", Draft(text="go"), returns=Told, timeout=20)
    assert (failed.value.reason, paid) == ("ambiguous", ["x"])
    assert "not_done" not in failed.value.error  # the model has gone on


@KINDS
async def test_a_person_can_tell_what_became_of_an_effect_with_which_the_model_is_done(kind: str, crews: Crews) -> None:
    """The model has caught the error, and its turn is saved, so the effect is never called again."""
    paid: list[str] = []

    def pay() -> None:
        paid.append("x")
        raise ConnectionError("no page came back")

    def use(ctx: bp.SyncContext) -> str:
        with contextlib.suppress(bp.Ambiguous):
            ctx.effect("pay", pay)
        return "no page"

    app = bp.App("told")
    made = {"function": by_function(use), "class": by_class(use), "crew": by_crew(crews, use)}[kind]
    (app.crewai if kind == "crew" else app.autogen)("a", accepts=Draft, returns=Told)(made)
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Told)
        assert (await reached(job, bp.JobState.FAILED)).reason == "ambiguous"
        await coordinator.redrive(job.id, changes={"effect:pay": None})
        assert "no page" in (await job.result(timeout=20)).text
    assert paid == ["x"]


async def test_what_a_sync_tool_of_a_team_gives_is_awaited_if_it_is_to_be() -> None:
    paid: list[str] = []

    def pay() -> str:
        paid.append("x")
        return "paid"

    def act(text: str) -> Any:
        return bp.current().effect("pay", pay)

    app = bp.App("awaited")
    app.autogen("a", accepts=Draft, returns=Told)(lambda: team_with(act))
    assert (await app.run("a", Draft(text="go"), returns=Told, timeout=20)).text == "paid"
    assert paid == ["x"]
