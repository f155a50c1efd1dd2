"""Functions that say whether a team has ended: asked once about each message, however often the team is resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.conditions import FunctionalTermination, HandoffTermination, MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat

import batonpass as bp
from batonpass.adapters.autogen.progress import Progress
from batonpass.testing import serving

from ..apps.autogen_app import Draft, Report, hands_to, says, speaker
from ..apps.autogen_kit import only
from ..workers.serving import reached

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]

ENDED = (bp.JobState.COMPLETED, bp.JobState.FAILED)


class Judge:
    """Says yes when it sees one of the texts, but only the first time: asked again, it says something else."""

    def __init__(self, *texts: str) -> None:
        self.left = [*texts]
        self.seen: list[str] = []

    async def asked(self, messages: Sequence[Any]) -> bool:
        texts = [message.to_text() for message in messages]
        self.seen += texts
        if found := [text for text in texts if text in self.left]:
            self.left.remove(found[0])
        return bool(found)


async def said(team: Callable[[], Any]) -> str:
    """What a team says in all. Each of its questions is answered with a number."""
    app = only(team, leave=lambda result, ctx: Report(body=" | ".join(each.to_text() for each in result.messages)))
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        for number in range(9):
            if (await reached(job, bp.JobState.INPUT_REQUIRED, *ENDED)).state.ended:
                break
            await job.answer(str(number))
        return (await job.result(timeout=30)).body


def members() -> list[Any]:
    return [speaker("A", says("a {turn}")), UserProxyAgent("boss")]


async def test_each_message_is_judged_once() -> None:
    judge = Judge("2")
    told = await said(lambda: RoundRobinGroupChat(members(), termination_condition=FunctionalTermination(judge.asked)))
    assert told == "go | a 1 | 0 | a 2 | 1 | a 3 | 2"
    assert judge.seen == told.split(" | ")


async def test_what_it_has_said_is_kept_for_what_else_has_to_be_so() -> None:
    judge = Judge("a 1")

    def team() -> RoundRobinGroupChat:
        ends = FunctionalTermination(judge.asked) & MaxMessageTermination(5)
        return RoundRobinGroupChat(members(), termination_condition=ends, max_turns=8)

    assert await said(team) == "go | a 1 | 0 | a 2 | 1"
    assert judge.seen == ["go", "a 1"]


async def test_a_team_that_is_asked_again_is_judged_anew() -> None:
    """As in AutoGen, where an answer to a handoff that ended the team is the task of another run."""
    judge = Judge("b 1")

    def team() -> RoundRobinGroupChat:
        ends = (FunctionalTermination(judge.asked) & MaxMessageTermination(5)) | HandoffTermination("chief")
        asks = speaker("A", lambda turn, _: hands_to("chief") if turn == 1 else f"a {turn}", handoffs=["chief"])
        members: list[Any] = [speaker("B", says("b {turn}")), asks, UserProxyAgent("boss")]
        return RoundRobinGroupChat(members, termination_condition=ends, max_turns=5)

    told = await said(team)
    assert told.startswith("go | b 1 | ")
    assert told.endswith(" | 0 | 1 | b 2 | a 2 | 2 | b 3")


async def test_it_is_not_asked_again_about_a_task_whose_turn_runs_again() -> None:
    """For a person's answer, or after an error."""
    judge = Judge("2")
    errors: list[Exception] = [bp.RetryLater(0.01)]

    def speaks(turn: int, messages: Sequence[Any]) -> str:
        if errors:
            raise errors.pop()
        return f"a {turn}"

    def team() -> RoundRobinGroupChat:
        both: list[Any] = [UserProxyAgent("boss"), speaker("A", speaks)]
        return RoundRobinGroupChat(both, termination_condition=FunctionalTermination(judge.asked))

    told = await said(team)
    assert told == "go | 0 | a 1 | 1 | a 2 | 2"
    assert (judge.seen, errors) == (told.split(" | "), [])


async def test_what_was_edited_is_judged_again() -> None:
    def broken(turn: int, messages: Sequence[Any]) -> str:
        raise ValueError("no")

    def team() -> RoundRobinGroupChat:
        both: list[Any] = [speaker("A", says("a 1")), speaker("B", broken)]
        ends = FunctionalTermination(lambda messages: "APPROVED" in messages[-1].to_text())
        return RoundRobinGroupChat(both, termination_condition=ends, max_turns=8)

    async with serving(only(team, retries=1)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=30)
        await coordinator.redrive(job.id, changes={"messages[1].content": "APPROVED"})
        assert await job.result(timeout=30) == Report(body="APPROVED")


async def test_what_an_older_worker_has_left_is_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It did not keep what was said."""
    snapshot = Progress.snapshot
    monkeypatch.setattr(Progress, "snapshot", lambda self, step: snapshot(replace(self, seen=b"", judged={}), step))
    judge = Judge("a 1", "a 1", "a 1")

    def team() -> RoundRobinGroupChat:
        ends = FunctionalTermination(judge.asked) & MaxMessageTermination(5)
        return RoundRobinGroupChat(members(), termination_condition=ends, max_turns=8)

    assert await said(team) == "go | a 1 | 0 | a 2 | 1"


def test_only_what_older_workers_can_not_read_is_of_a_newer_form() -> None:
    made = [Progress(), Progress(seen=b"x"), Progress(answered={"a": {}}), Progress(joins=True)]
    assert [each.snapshot("x").native["v"] for each in made] == [1, 2, 2, 2]
