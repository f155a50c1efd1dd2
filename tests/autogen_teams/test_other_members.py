"""A conversation whose team has got other members: the next message is answered, by members who know what was said."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from autogen_agentchat.agents import CodeExecutorAgent, UserProxyAgent
from autogen_agentchat.base import Handoff as ToMember
from autogen_agentchat.messages import MultiModalMessage
from autogen_agentchat.teams import BaseGroupChat, RoundRobinGroupChat, SelectorGroupChat, Swarm
from autogen_core import Image
from autogen_core.code_executor import CodeBlock, CodeExecutor, CodeResult
from autogen_core.models import LLMMessage

import batonpass as bp

from ..apps.autogen_app import Draft, Report, ScriptedModel, hands_to, says, speaker
from ..apps.autogen_kit import only
from ..apps.kit import question

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]

Team = Callable[[], BaseGroupChat]


def heard(_: int, messages: Sequence[LLMMessage]) -> str:
    """What it knows. In capitals what it said itself."""
    texts = ((message.type, message.content if isinstance(message.content, str) else "...") for message in messages)
    return ",".join(text.upper() if kind == "AssistantMessage" else text for kind, text in texts)


def texts(result: Any) -> Report:
    return Report(body=" | ".join(f"{message.source}: {message.to_text()}" for message in result.messages))


def ring(names: str) -> BaseGroupChat:
    return RoundRobinGroupChat([speaker(name, says(name)) for name in names], max_turns=len(names))


def hearing(names: str) -> BaseGroupChat:
    return RoundRobinGroupChat([speaker(name, heard) for name in names], max_turns=len(names))


def chosen(name: str) -> BaseGroupChat:
    members = [speaker("a", heard), speaker("b", heard)]
    return SelectorGroupChat([*members], ScriptedModel("chair", says(name)), max_turns=1)


@asynccontextmanager
async def chat(before: Team, url: str = "memory://") -> AsyncIterator[Callable[..., Any]]:
    """Has had one message, "one". The next ones are answered by the team that is given."""
    async with bp.connect(url) as coordinator:

        async def say(text: str, team: Team, **options: Any) -> str:
            declared: dict[str, Any] = {"memory": "thread", "leave": texts, "retries": 1, **options}
            app = only(team, **declared)
            async with app.worker(coordinator):
                job = await coordinator.submit("a", Draft(text=text), thread="t")
                return str((await job.result(timeout=20)).model_dump()["body"])

        await say("one", before)
        yield say


class Runs(CodeExecutor):
    """Runs no code, and notes what it was given."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def execute_code_blocks(self, code_blocks: list[CodeBlock], cancellation_token: Any) -> CodeResult:
        self.ran += [block.code.strip() for block in code_blocks]
        return CodeResult(exit_code=0, output="done")

    async def start(self) -> None: ...
    async def stop(self) -> None: ...
    async def restart(self) -> None: ...


def running(code: str, machine: Runs, *more: str) -> BaseGroupChat:
    """A team that writes code and runs it."""
    coder = speaker("coder", says(f"```python\n{code}\n```"))
    others = [speaker(name, heard) for name in more]
    return RoundRobinGroupChat([coder, CodeExecutorAgent("b", machine), *others], max_turns=2)


@pytest.mark.filterwarnings("ignore:No approval function")
async def test_code_that_has_run_does_not_run_again() -> None:
    machine = Runs()
    async with chat(lambda: running("pay(1)", machine)) as say:
        assert machine.ran == ["pay(1)"]
        await say("two", lambda: running("pay(2)", machine, "n"))
        assert machine.ran == ["pay(1)", "pay(2)"]


@pytest.mark.filterwarnings("ignore:No approval function")
async def test_a_member_of_another_class_knows_what_was_said(caplog: pytest.LogCaptureFixture) -> None:
    """AutoGen would load its state as an empty one."""
    async with chat(lambda: running("pay(1)", Runs())) as say:
        assert "b: one,```python" in await say("two", lambda: hearing("b"))
    assert "'b' is another kind of member than before" in caplog.text


@pytest.mark.parametrize("url", ["memory", "sqlite", "redis"])
async def test_all_of_them_know_what_was_said(
    url: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    store = "memory://" if url == "memory" else request.getfixturevalue(f"{url}_url")
    async with chat(lambda: ring("ab"), store) as say:
        with caplog.at_level(logging.WARNING, "batonpass"):
            first = await say("two", lambda: hearing("bn"))
        assert first == "user: two | b: one,a,B,two | n: one,a,b,two,one,a,B,two"
        assert "has the members b, n, and had a, b" in caplog.text
        caplog.clear()
        assert (await say("three", lambda: hearing("bn"))).startswith("user: three | b: one,a,B,two,ONE,A,B,TWO,")
        assert not caplog.text


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (lambda: Swarm([speaker("n", heard)], max_turns=1), "user: two | n: one,a,b,two"),
        (lambda: ring("ba"), "user: two | b: b | a: a"),
        (lambda: chosen("b"), "user: two | b: one,a,B,two"),
        (lambda: RoundRobinGroupChat([ring("xy"), speaker("n", heard)], max_turns=2), "n: one,a,b,two,x,y"),
    ],
)
async def test_the_team_may_be_of_another_kind(after: Team, said: str) -> None:
    async with chat(lambda: ring("ab")) as say:
        assert said in await say("two", after)


async def test_a_swarm_continues_without_the_member_that_had_the_conversation() -> None:
    def swarm(other: str) -> Swarm:
        members = [speaker("a", lambda *_: hands_to(other), handoffs=[ToMember(target=other)]), speaker(other, heard)]
        return Swarm([*members], max_turns=2)

    async with chat(lambda: swarm("old")) as say:
        assert (await say("two", lambda: swarm("new"))).startswith("user: two | a: ")


async def test_a_picture_is_among_what_was_said() -> None:
    def enter(payload: Draft) -> Any:
        pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="
        return MultiModalMessage(content=[payload.text, Image.from_base64(pixel)], source="user")

    def seen(_: int, messages: Sequence[LLMMessage]) -> str:
        return f"{sum('<image>' in str(message.content) for message in messages)} pictures"  # it has no eyes

    async with chat(lambda: ring("a")) as say:
        await say("two", lambda: ring("a"), enter=enter)
        team: Team = lambda: RoundRobinGroupChat([speaker("n", seen)], max_turns=1)  # noqa: E731
        assert (await say("three", team, enter=enter)).endswith("n: 2 pictures")


async def test_it_begins_so_after_a_crash_too() -> None:
    away = [True]

    def fails(turn: int, messages: Sequence[LLMMessage]) -> str:
        if away:
            away.clear()
            raise bp.RetryLater(0.01)
        return heard(turn, messages)

    async with chat(lambda: ring("ab")) as say:
        team: Team = lambda: RoundRobinGroupChat([speaker("n", fails)], max_turns=1)  # noqa: E731
        assert await say("two", team, retries=2) == "user: two | n: one,a,b,two"


async def test_a_job_in_the_middle_is_refused_as_ever() -> None:
    def asking(names: str) -> BaseGroupChat:
        members = [UserProxyAgent(name) if name == "p" else speaker(name, says(name)) for name in names]
        return RoundRobinGroupChat([*members], max_turns=2)

    declared: dict[str, Any] = {"memory": "thread", "leave": texts, "retries": 1}
    async with bp.connect("memory://") as coordinator:
        async with only(lambda: asking("pa"), **declared).worker(coordinator):
            job = await coordinator.submit("a", Draft(text="one"), thread="t")
            await question(job)
            await job.answer("yes")
            await job.result(timeout=20)
            job = await coordinator.submit("a", Draft(text="two"), thread="t")
            await question(job)
        async with only(lambda: asking("npa"), **declared).worker(coordinator):
            await job.answer("yes")
            with pytest.raises(bp.JobFailed, match="has the members n, p, a, and had p, a"):
                await job.result(timeout=20)
