"""Models that a team's own code holds and asks by itself: they are not asked again for what they answered, either."""

from __future__ import annotations

import json
from asyncio import TaskGroup, gather, run
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from autogen_agentchat.agents import AssistantAgent, BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat
from autogen_core import CancellationToken
from autogen_core.models import CreateResult, RequestUsage, UserMessage

import batonpass as bp
from batonpass.testing import serving

from ..apps.autogen_app import Draft, Report, ScriptedModel, called, last, says, speaker
from ..apps.autogen_kit import only
from ..apps.kit import labels, outcome

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


async def ask(model: ScriptedModel, text: str) -> str:
    return str((await model.create([UserMessage(content=text, source="user")])).content)


async def ask_for_parts(model: ScriptedModel, text: str) -> str:
    parts = [part async for part in model.create_stream([UserMessage(content=text, source="user")])]
    return " ".join(str(part.content) for part in parts if isinstance(part, CreateResult))


class Panel(BaseChatAgent):
    """An agent of a user's own class, with its models in a dict."""

    def __init__(self, name: str, then: Callable[[list[str]], str]) -> None:
        super().__init__(name, "a panel")
        self.models = {part: ScriptedModel(part, says(f"{part} {{turn}}")) for part in ("low", "high")}
        self.then = then

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        said = await gather(*(ask(model, "the same") for model in self.models.values()))
        said.append(await ask_for_parts(self.models["low"], "the same"))
        return Response(chat_message=TextMessage(content=self.then(said), source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None: ...


class Once:
    """Returns its argument, but ends the first attempt."""

    def __init__(self) -> None:
        self.ended = False

    def __call__(self, said: list[str]) -> str:
        if not self.ended:
            self.ended = True
            raise bp.RetryLater(0.01)
        return "; ".join(said)


async def test_of_a_selector_and_of_an_agent_of_ones_own(log: Path) -> None:
    once = Once()

    def team() -> SelectorGroupChat:
        chooser = ScriptedModel("chooser", says("panel"))

        async def choose(thread: Sequence[Any]) -> str:
            return await ask(chooser, f"{len(thread)} messages")

        chair = ScriptedModel("chair", says("panel"))
        return SelectorGroupChat(
            [Panel("panel", once), speaker("B", says("x"))], chair, selector_func=choose, max_turns=1
        )

    assert await outcome(only(team), Draft(text="go")) == Report(body="low 1; high 1; low 1")
    assert sorted(labels(log)) == ["chooser:1", "high:1", "low:1", "low:1"]


async def test_of_a_tool_and_only_for_its_own_call(log: Path) -> None:
    """A recorded call does not ask again. When the next call asks the same question, that is another question."""
    once, rolls = Once(), count(1)

    def team() -> RoundRobinGroupChat:
        model = ScriptedModel("dice", lambda turn, messages: str(next(rolls)))

        async def roll(text: str) -> str:
            """Rolls."""
            said = [await ask(model, "roll"), await ask(model, "roll")]
            return once(said) if text == "b" else "; ".join(said)

        def play(turn: int, messages: Any) -> Any:
            return [called("roll", "ab"[turn - 1])] if turn < 3 else last(messages)

        return RoundRobinGroupChat([speaker("A", play, tools=[roll], max_tool_iterations=3)], max_turns=1)

    assert "3; 4" in (await outcome(only(team), Draft(text="go"))).body
    assert labels(log) == ["A:1", "dice:1", "dice:1", "A:2", "dice:1", "dice:1", "A:3"]


async def test_an_answer_that_ones_own_agent_fails_at_is_asked_for_anew(log: Path) -> None:
    tried: list[str] = []

    def parse(said: list[str]) -> str:
        tried.append("x")
        return str(json.loads("no JSON" if len(tried) == 1 else "7"))

    def team() -> RoundRobinGroupChat:
        return RoundRobinGroupChat([speaker("A", says("x")), Panel("panel", parse)], max_turns=2)

    assert await outcome(only(team, retries=bp.Retry(first=0.01)), Draft(text="go")) == Report(body="7")
    assert sorted(labels(log)) == ["A:1", "high:1", "high:1", "low:1", "low:1", "low:1"]


async def test_so_is_one_that_it_asked_for_when_another_model_was_away(log: Path) -> None:
    """Its error is its own cause, as `raise error from error` makes it."""
    answers = iter(["no JSON", "7"])

    def refuse(turn: int, messages: Any) -> str:
        raise ConnectionError("the model is away")

    class Falls(Panel):
        async def on_messages(self, messages: Any, cancellation_token: CancellationToken) -> Response:
            with suppress(ConnectionError):
                await ask(ScriptedModel("away", refuse), "the same")
            said = await ask(ScriptedModel("spare", lambda turn, messages: next(answers)), "the same")
            try:
                return Response(chat_message=TextMessage(content=str(json.loads(said)), source=self.name))
            except ValueError as error:
                raise error from error

    def team() -> RoundRobinGroupChat:
        return RoundRobinGroupChat([Falls("panel", ", ".join)], max_turns=1)

    assert await outcome(only(team, retries=bp.Retry(first=0.01)), Draft(text="go")) == Report(body="7")
    assert labels(log) == ["away:1", "spare:1"] * 2


@pytest.mark.parametrize("way", ["cause", "group", "team"])
async def test_when_one_model_is_away_what_the_others_answered_stays(way: str, log: Path) -> None:
    away = [ConnectionError("the model is away")]

    def answer(turn: int, messages: Any) -> str:
        if away:
            raise away.pop()
        return "high"

    class Steps(Panel):
        """Asks its models one after the other, itself, in a task, or through a team that it makes."""

        async def on_messages(self, messages: Any, cancellation_token: CancellationToken) -> Response:
            low, high = ScriptedModel("low", says("low")), ScriptedModel("high", answer)
            if way == "team":
                members = [AssistantAgent(model.name, model) for model in (low, high)]
                said = [(await RoundRobinGroupChat([*members], max_turns=2).run(task="x")).messages[-1].to_text()]
            elif way == "group":
                said = [await ask(low, "the same")]
                async with TaskGroup() as tasks:
                    asked = tasks.create_task(ask(high, "the same"))
                said.append(asked.result())
            else:
                try:
                    said = [await ask(model, "the same") for model in (low, high)]
                except ConnectionError as error:
                    raise ValueError("nothing was said") from error
            return Response(chat_message=TextMessage(content=said[-1], source=self.name))

    def team() -> RoundRobinGroupChat:
        return RoundRobinGroupChat([Steps("panel", ", ".join)], max_turns=1)

    assert await outcome(only(team, retries=bp.Retry(first=0.01)), Draft(text="go")) == Report(body="high")
    assert labels(log) == ["low:1", "high:1", "high:1"]


async def test_what_can_not_be_told_from_other_requests_is_just_asked() -> None:
    class Loose(ScriptedModel):
        async def create(self, messages: Any, *rest: Any, **options: Any) -> CreateResult:
            return await super().create([UserMessage(content=str(messages), source="user")], **options)

    def team() -> RoundRobinGroupChat:
        model = Loose("loose", lambda turn, messages: f"to {last(messages)}")

        async def look(text: str) -> str:
            """Looks."""
            return str((await model.create(["hello"])).content)

        def play(turn: int, messages: Any) -> Any:
            return [called("look", "x")] if turn == 1 else str(messages[-1].content[0].content)

        return RoundRobinGroupChat([speaker("A", play, tools=[look], max_tool_iterations=2)], max_turns=1)

    assert await outcome(only(team), Draft(text="go")) == Report(body="to ['hello']")


async def test_what_is_asked_from_a_thread_with_a_loop_of_its_own_is_just_asked(redis_url: str) -> None:
    def team() -> RoundRobinGroupChat:
        model = ScriptedModel("dice", says("six"))

        def roll(text: str) -> str:
            """Rolls."""
            return run(gather_all(model))

        def play(turn: int, messages: Any) -> Any:
            return [called("roll", at) for at in "ab"] if turn == 1 else str(messages[-1].content[0].content)

        return RoundRobinGroupChat([speaker("A", play, tools=[roll], max_tool_iterations=2)], max_turns=1)

    async with serving(only(team), redis_url) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        assert await job.result(timeout=20) == Report(body="six; six")


async def gather_all(model: ScriptedModel) -> str:
    return "; ".join(await gather(ask(model, "roll"), ask_for_parts(model, "roll")))


async def test_a_client_that_is_a_mock_is_just_asked() -> None:
    usage = RequestUsage(prompt_tokens=1, completion_tokens=1)

    class Mocked(ScriptedModel):
        create = AsyncMock(return_value=CreateResult(content="mocked", finish_reason="stop", usage=usage, cached=False))

    def team() -> SelectorGroupChat:
        async def choose(thread: Sequence[Any]) -> str:
            return "B" if await ask(Mocked("mocked", says("x")), "who?") == "mocked" else "A"

        members = [speaker("A", says("a")), speaker("B", says("b"))]
        return SelectorGroupChat([*members], ScriptedModel("chair", says("A")), selector_func=choose, max_turns=1)

    assert await outcome(only(team), Draft(text="go")) == Report(body="b")
