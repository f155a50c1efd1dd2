"""A team with `memory="thread"` or "job": each job's result is its own, whatever became of the jobs before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from autogen_agentchat.conditions import MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall
from autogen_core.models import LLMMessage

import batonpass as bp
from batonpass.testing import serving

from ..apps.autogen_app import Draft, Report, Score, last, speaker
from ..apps.autogen_kit import only

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]

Say = Callable[..., Any]


def heard(_: int, messages: Sequence[LLMMessage]) -> str:
    return " / ".join(str(message.content) for message in messages if message.type == "UserMessage")


def texts(result: Any) -> Report:
    return Report(body=" | ".join(message.to_text() for message in result.messages))


@asynccontextmanager
async def chat(team: Callable[[], Any], **options: Any) -> AsyncIterator[Say]:
    """Submits a job on the thread `t` and waits for its result."""
    declared: dict[str, Any] = {"memory": "thread", "retries": 1, **options}
    async with serving(only(team, **declared)) as coordinator:

        async def say(text: str) -> Any:
            return await (await coordinator.submit("a", Draft(text=text), thread="t")).result(timeout=20)

        yield say


def stopping() -> RoundRobinGroupChat:
    ends = TextMentionTermination("STOP") | MaxMessageTermination(2)
    return RoundRobinGroupChat([speaker("A", heard)], termination_condition=ends)


async def test_a_message_that_ends_the_run_itself_is_all_that_its_job_gives() -> None:
    """As with AutoGen's own `run`. The member reads it with the next message."""
    async with chat(stopping, leave=texts) as say:
        assert await say("one") == Report(body="one | one")
        for _ in range(2):
            assert await say("please STOP") == Report(body="please STOP")
        assert await say("two") == Report(body="two | one / please STOP / please STOP / two")


async def test_without_leave_it_is_an_error_and_not_the_answer_before() -> None:
    async with chat(stopping) as say:
        assert await say("one") == Report(body="one")
        with pytest.raises(bp.JobFailed, match="stopped before anybody spoke: Text 'STOP' mentioned"):
            await say("please STOP")
        assert await say("two") == Report(body="one / please STOP / two")


async def test_a_first_message_that_ends_the_run_is_in_its_result() -> None:
    async with serving(only(stopping, leave=texts)) as coordinator:
        job = await coordinator.submit("a", Draft(text="please STOP"))
        assert await job.result(timeout=20) == Report(body="please STOP")


async def test_a_second_visit_whose_task_ends_the_run_has_no_answer_of_the_first() -> None:
    app = bp.App("twice")
    app.autogen("a", accepts=Draft, hands_to={"b": Report}, memory="job", leave=texts)(stopping)

    @app.agent("b", accepts=Report, returns=Report, hands_to={"a": Draft})
    def b(given: Report, ctx: bp.SyncContext) -> Any:
        return ctx.hand_off("a", Draft(text="now STOP")) if ctx.hop == 1 else given

    assert await app.run("a", Draft(text="one"), timeout=20) == Report(body="now STOP")


async def test_messages_that_failed_do_not_count_for_the_next_one() -> None:
    def replies(turn: int, messages: Sequence[LLMMessage]) -> str:
        if last(messages) == "broken":
            raise ValueError("no")
        return heard(turn, messages)

    def team() -> RoundRobinGroupChat:
        return RoundRobinGroupChat([speaker("A", replies)], termination_condition=MaxMessageTermination(2))

    async with chat(team) as say:
        assert await say("one") == Report(body="one")
        for _ in range(2):
            with pytest.raises(bp.JobFailed, match="no"):
                await say("broken")
        assert await say("two") == Report(body="one / broken / broken / two")
        assert await say("three") == Report(body="one / broken / broken / two / three")


async def test_nor_do_those_that_another_one_interrupted() -> None:
    began = anyio.Event()

    async def wait() -> str:
        """Takes its time."""
        began.set()
        await anyio.sleep_forever()
        return "never"

    def replies(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        if last(messages) == "slow":
            return [FunctionCall(id="1", name="wait", arguments="{}")]
        return heard(turn, messages)

    def team() -> RoundRobinGroupChat:
        return RoundRobinGroupChat(
            [speaker("A", replies, tools=[wait])], termination_condition=MaxMessageTermination(3), max_turns=1
        )

    async with serving(only(team, memory="thread")) as coordinator:
        for _ in range(2):
            began = anyio.Event()
            await coordinator.submit("a", Draft(text="slow"), thread="t", on_busy="interrupt")
            with anyio.fail_after(20):
                await began.wait()
        job = await coordinator.submit("a", Draft(text="quick"), thread="t", on_busy="interrupt")
        assert await job.result(timeout=20) == Report(body="slow / slow / quick")


async def test_a_turn_that_is_taken_over_sees_what_the_jobs_before_left_out_of_its_limits() -> None:
    """The limits are counted again from the checkpoint."""
    away = [True]

    def first(turn: int, messages: Sequence[LLMMessage]) -> str:
        if last(messages) == "m1":
            raise ValueError("no")
        return "first"

    def second(turn: int, messages: Sequence[LLMMessage]) -> str:
        if away:
            away.clear()
            raise bp.RetryLater(0.01)
        return heard(turn, messages)

    def team() -> RoundRobinGroupChat:
        members = [speaker("A", first), speaker("B", second)]
        return RoundRobinGroupChat([*members], termination_condition=MaxMessageTermination(3))

    async with chat(team, leave=texts, retries=bp.Retry(attempts=2, first=0.01)) as say:
        with pytest.raises(bp.JobFailed, match="no"):
            await say("m1")
        assert await say("m2") == Report(body="m2 | first | m1 / m2 / first")


async def test_a_team_that_is_resumed_twice_counts_each_message_once() -> None:
    away = {4, 6}

    def reply(turn: int, messages: Sequence[LLMMessage]) -> str:
        if len(messages) in away:
            away.remove(len(messages))
            raise bp.RetryLater(0.01)
        return f"{len(messages)}"

    def team() -> RoundRobinGroupChat:
        return RoundRobinGroupChat([speaker("A", reply)], termination_condition=MaxMessageTermination(9))

    assert await only(team, leave=texts).run("a", Draft(text="0"), timeout=20) == Report(
        body="0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8"
    )


async def test_a_later_answer_in_words_is_not_an_earlier_one_with_a_structure() -> None:
    def team() -> RoundRobinGroupChat:
        structured = speaker("A", lambda *_: '{"points": 1, "reason": "a"}', output_content_type=Score)
        return RoundRobinGroupChat([structured, speaker("B", lambda *_: '{"points": 2, "reason": "b"}')], max_turns=1)

    async with chat(team, returns=Score) as say:
        assert [(await say(text)).points for text in ("one", "two", "three", "four")] == [1, 2, 1, 2]


async def test_leave_gets_the_messages_of_its_own_job() -> None:
    def team() -> RoundRobinGroupChat:
        return RoundRobinGroupChat([speaker("A", heard), speaker("B", heard)], max_turns=1)

    async with chat(team, leave=texts) as say:
        assert await say("one") == Report(body="one | one")
        assert await say("two") == Report(body="two | one / one / two")
