"""A person's edit of a team's messages: what is added is read, and what would confuse the members is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from autogen_agentchat.teams import BaseGroupChat, RoundRobinGroupChat
from autogen_core.models import LLMMessage

import batonpass as bp
from batonpass.testing import serving

from ..apps.autogen_app import Draft, Report, hands_to, says, speaker
from ..apps.autogen_kit import only

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]

Messages = list[dict[str, Any]]
NEW = {"type": "TextMessage", "source": "user", "content": "NEW"}


def heard(_: int, messages: Sequence[LLMMessage]) -> str:
    return " / ".join(str(message.content) for message in messages)


def texts(result: Any) -> Report:
    return Report(body=" | ".join(message.to_text() for message in result.messages))


def fails_once(name: str) -> Callable[[], BaseGroupChat]:
    """A ring of A, B and C, whose member `name` fails once."""
    away = [True]

    def say(turn: int, messages: Sequence[LLMMessage]) -> str:
        if away:
            away.clear()
            raise ConnectionError("away")
        return heard(turn, messages)

    members = {other: heard if other == name else says(other.lower()) for other in "ABC"} | {name: say}
    return lambda: RoundRobinGroupChat([speaker(each, script) for each, script in members.items()], max_turns=3)


async def failed(coordinator: bp.Coordinator) -> tuple[bp.Job[Any], Messages]:
    """A job that failed, and its messages."""
    job = await coordinator.submit("a", Draft(text="go"))
    with pytest.raises(bp.JobFailed):
        await job.result(timeout=20)
    [tip] = await coordinator.timeline(job.id, limit=1)
    return job, (await coordinator.restore(tip.id)).state["messages"]


async def test_a_message_that_only_autogen_can_judge_is_named_when_the_job_runs() -> None:
    def counts(turn: int, messages: Sequence[LLMMessage]) -> Any:
        return hands_to("nobody") if turn == 1 else heard(turn, messages)

    away = [True]

    def fails(turn: int, messages: Sequence[LLMMessage]) -> str:
        if away:
            away.clear()
            raise ConnectionError("away")
        return "fine"

    def team() -> BaseGroupChat:
        return RoundRobinGroupChat([speaker("A", counts), speaker("B", fails)], max_turns=2)

    async with serving(only(team, leave=texts, retries=1)) as coordinator:
        job, messages = await failed(coordinator)
        [called] = [place for place, told in enumerate(messages) if told["type"] == "ToolCallRequestEvent"]
        await coordinator.redrive(job.id, changes={f"messages[{called}].content": [5]})
        with pytest.raises(bp.JobFailed, match=r"ToolCallRequestEvent of 'A' can't be read \(content\.0: "):
            await job.result(timeout=20)
        await coordinator.redrive(job.id, changes={f"messages[{called}].content": messages[called]["content"]})
        assert (await job.result(timeout=20)).body.endswith("fine")


@pytest.mark.parametrize("url", ["memory", "sqlite", "redis"])
async def test_a_message_that_is_added_is_read_by_all_who_speak_then(url: str, request: pytest.FixtureRequest) -> None:
    store = "memory://" if url == "memory" else request.getfixturevalue(f"{url}_url")
    async with serving(only(fails_once("C"), leave=texts, retries=1), store) as coordinator:
        job, messages = await failed(coordinator)
        await coordinator.redrive(job.id, changes={"messages": [*messages, NEW]})
        assert await job.result(timeout=20) == Report(body="go | a | b | NEW | go / a / b / NEW")


async def test_a_team_that_had_ended_goes_on_with_it() -> None:
    def leave(result: Any) -> Report:
        assert len(result.messages) > 2, "too short"
        return texts(result)

    app = only(lambda: RoundRobinGroupChat([speaker("A", heard)], max_turns=1), leave=leave, retries=1)
    async with serving(app) as coordinator:
        job, messages = await failed(coordinator)
        await coordinator.redrive(job.id, changes={"messages": [*messages, NEW]})
        assert await job.result(timeout=20) == Report(body="go | go | NEW | go / go / NEW")


async def test_a_chat_goes_on_from_a_fork_with_another_message() -> None:
    def team() -> BaseGroupChat:
        return RoundRobinGroupChat([speaker("A", heard), speaker("B", heard)], max_turns=1)

    async with serving(only(team, leave=texts, memory="thread")) as coordinator:
        for text in ("one", "two"):
            job = await coordinator.submit("a", Draft(text=text), thread="t")
            await job.result(timeout=20)
        [tip] = await coordinator.timeline("t", limit=1)
        await coordinator.fork(tip.id, append={"messages": [NEW]})
        job = await coordinator.submit("a", Draft(text="three"), thread="t")
        assert await job.result(timeout=20) == Report(body="three | one / one / two / one / one / two / NEW / three")


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda told: [*told[:1], NEW, *told[1:]], "messages[1] would be of another type or member"),
        (lambda told: [*told[:1], {**told[1], "id": "n"}, *told[2:]], "messages[1] would be another message"),
        (lambda told: told[:-1], "would lack messages[2]"),
        (lambda told: [*told, told[0]], "messages[3] would be there twice"),
        (lambda told: [told[0], told[2], told[1]], "messages[1] would be another message"),
        (lambda told: [*told, {**NEW, "type": "ThoughtEvent"}], "messages[3] would be a ThoughtEvent"),
    ],
)
async def test_an_edit_of_what_the_members_have_counted_is_refused_at_once(edit: Any, complaint: str) -> None:
    async with serving(only(fails_once("C"), leave=texts, retries=1)) as coordinator:
        job, messages = await failed(coordinator)
        with pytest.raises(bp.BadSetup) as refused:
            await coordinator.redrive(job.id, changes={"messages": edit(messages)})
        assert complaint in str(refused.value)
        assert "--agent a" in str(refused.value)
        [tip] = await coordinator.timeline(job.id, limit=1)
        with pytest.raises(bp.BadSetup):
            await coordinator.fork(tip.id, state={"messages": edit(messages)})
        await coordinator.redrive(job.id)
        assert await job.result(timeout=20) == Report(body="go | a | b | go / a / b")


async def test_a_new_job_may_begin_with_any_of_them() -> None:
    async with serving(only(fails_once("C"), leave=texts, retries=1)) as coordinator:
        job, told = await failed(coordinator)
        [tip] = await coordinator.timeline(job.id, limit=1)
        changes = {"messages": [told[2], {**NEW, "content": "other"}]}
        fork = await coordinator.fork(tip.id, agent="a", changes=changes, payload=Draft(text="then"))
        assert await fork.result(timeout=20) == Report(body="then | a | b | b / other / then / a / b")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"messages[1].content": 5}, "messages'][1]: content of a TextMessage is a str, and would be an int"),
        ({"messages[1].type": "Nonsense"}, "messages'][1]: there is no type 'Nonsense'"),
        ({"messages[1].source": 7}, "messages'][1]: source of a TextMessage is a str, and would be an int"),
        ({"messages[1].created_at": "yesterday"}, "messages'][1]: created_at is a time, and would be 'yesterday'"),
        ({"messages[1].metadata": 5}, "messages'][1]: metadata of a TextMessage is a dict, and would be an int"),
        ({"messages[1].type": "HandoffMessage"}, "messages'][1]: a HandoffMessage has a target"),
    ],
)
async def test_a_value_that_no_message_can_have_is_refused_at_once(changes: Any, complaint: str) -> None:
    async with serving(only(fails_once("C"), leave=texts, retries=1)) as coordinator:
        job, _ = await failed(coordinator)
        with pytest.raises(bp.BadSetup) as refused:
            await coordinator.redrive(job.id, changes=changes)
        assert complaint in str(refused.value)
        await coordinator.redrive(job.id, changes={"messages[1].content": "other"})
        assert await job.result(timeout=20) == Report(body="go | other | b | go / other / b")
