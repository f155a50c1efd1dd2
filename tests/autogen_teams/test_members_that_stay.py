"""Members that stay in a conversation's changed team keep what they know; one that can't take it begins anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from autogen_agentchat.agents import (
    AssistantAgent,
    BaseChatAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
    SocietyOfMindAgent,
)
from autogen_agentchat.base import Handoff as ToMember
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_agentchat.teams import BaseGroupChat, DiGraphBuilder, GraphFlow, RoundRobinGroupChat, Swarm
from autogen_core import CancellationToken
from autogen_core.models import LLMMessage
from autogen_core.tools import BaseTool
from pydantic import BaseModel

import batonpass as bp

from ..apps.autogen_app import ScriptedModel, called, hands_to, says, speaker
from .test_other_members import Team, chat, heard, hearing

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


AWAY: list[Exception] = []


class Counts(BaseChatAgent):
    """Counts the messages it got. `key` is how its release names that."""

    def __init__(self, key: str = "count") -> None:
        super().__init__("c", "counts")
        self._key, self._count = key, 0

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        self._count += len(messages)
        return Response(chat_message=TextMessage(content=str(self._count), source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        self._count = 0

    async def save_state(self) -> Mapping[str, Any]:
        return {self._key: self._count}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        assert self._key in (*state, "total")
        if AWAY:
            raise AWAY.pop()
        self._count = state[self._key]


class Text(BaseModel):
    text: str


class Adds(BaseTool[Text, Text]):
    """Says how often it was called."""

    def __init__(self) -> None:
        super().__init__(Text, Text, "add", "adds")
        self._calls = 0

    async def run(self, args: Text, cancellation_token: CancellationToken) -> Text:
        self._calls += 1
        return Text(text=f"{args.text} {self._calls}")

    async def save_state_json(self) -> Mapping[str, Any]:
        return {"calls": self._calls}

    async def load_state_json(self, state: Mapping[str, Any]) -> None:
        self._calls = state["calls"]


def team(*members: Any) -> BaseGroupChat:
    return RoundRobinGroupChat([*members], max_turns=len(members))


def inner(names: str) -> BaseGroupChat:
    return team(RoundRobinGroupChat([speaker(name, heard) for name in names], name="inner", max_turns=2))


def society(names: str, *more: Any) -> BaseGroupChat:
    """Says what its first member has said."""
    members = [speaker(name, heard) for name in names]
    model = ScriptedModel("s", lambda _, messages: str(messages[1].content))
    return team(SocietyOfMindAgent("s", team(*members), model), *more)


def filtering(*more: Any) -> BaseGroupChat:
    config = MessageFilterConfig(per_source=[PerSourceFilter(source="user", position="last", count=10)])
    return team(MessageFilterAgent(name="f", wrapped_agent=speaker("f", heard), filter=config), *more)


def adding(*more: Any) -> BaseGroupChat:
    def calls(_: int, messages: Sequence[LLMMessage]) -> Any:
        return [called("add", "once")]

    return team(speaker("a", calls, tools=[Adds()]), *more)


def swarm(first: str, last: str) -> BaseGroupChat:
    """Ends with a handoff from the first to the last."""
    to = ToMember(target=last)
    begins = speaker(first, lambda *_: hands_to(last), handoffs=[to])
    return Swarm([begins, speaker(last, heard)], name="inner", max_turns=1)


def graph(names: str, *edges: str) -> BaseGroupChat:
    """Each speaks after the one before, or as the edges say."""
    members = {name: speaker(name, heard) for name in names}
    builder = DiGraphBuilder()
    for member in members.values():
        builder.add_node(member)
    for edge in edges or pairwise(names):
        builder.add_edge(members[edge[0]], members[edge[1]])
    return GraphFlow([*members.values()], builder.build())


def new() -> AssistantAgent:
    return speaker("n", says("n"))


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        (lambda: filtering(), lambda: filtering(new()), "f: one,ONE,two | n: n"),
        (lambda: adding(), lambda: adding(new()), 'a: {"text": "once 2"} | n: n'),
        (lambda: team(Counts()), lambda: team(Counts(), new()), "c: 2 | n: n"),
        (lambda: inner("xy"), lambda: inner("yx"), "y: one,one,ONE,ONE,two"),
        (lambda: inner("xy"), lambda: inner("xz"), "x: one,ONE,one,one,two | z: "),
        (lambda: team(hearing("x")), lambda: team(hearing("xz")), "x: one,ONE,two | z: one,one,"),
        (lambda: society("xy"), lambda: society("xyz"), "s: one,relevant previous messages,two"),
        (lambda: society("xy"), lambda: society("yx", new()), "s: one,relevant previous messages,two | n: n"),
        (lambda: team(Counts()), lambda: team(Counts("total")), "c: 1"),
        (lambda: team(Counts()), lambda: team(Counts("strict")), "c: 1"),
        (lambda: team(Counts()), lambda: team(new(), Counts("total")), "n: n | c: 2"),
        (lambda: team(swarm("a", "old")), lambda: team(swarm("a", "new")), "| a: Transferred to new"),
        (lambda: team(swarm("a", "b")), lambda: team(swarm("a", "n"), hearing("b")), "| a: Transferred to n"),
        (lambda: graph("xy"), lambda: graph("xyz"), "x: one,ONE,one,one,two | y: one,one,ONE,ONE,two,one,ONE,"),
    ],
)
async def test_the_conversation_goes_on(before: Team, after: Team, answer: str) -> None:
    async with chat(before) as say:
        assert answer in await say("two", after)
        assert "three" in await say("three", after)


@pytest.mark.parametrize(
    ("before", "after", "order"),
    [
        (("ab", "bc", "cd"), ("ba", "ac", "cd"), "bacd"),
        (("ab", "bc", "cd"), ("ac", "cb", "bd"), "acbd"),
        (("ab", "bc", "cd"), ("ab", "ac", "bd", "cd"), "abcd"),
        (("ab", "ac", "bd", "cd"), ("ab", "bc", "cd"), "abcd"),
    ],
)
async def test_a_graph_with_other_edges(before: tuple[str, ...], after: tuple[str, ...], order: str) -> None:
    """It waited for edges that are gone: each message failed, or a member was left out."""
    async with chat(lambda: graph("abcd", *before)) as say:
        for text in ("two", "three"):
            said = await say(text, lambda: graph("abcd", *after))
            assert [line.partition(":")[0] for line in said.split(" | ")] == ["user", *order]
            assert "one,ONE" in said  # who stays knows what it said


def looping() -> BaseGroupChat:
    """Is stopped in its middle, where whoever begins is the next, as at its beginning."""
    members = {name: speaker(name, says("again" if name == "b" else name)) for name in "abcd"}
    builder = DiGraphBuilder()
    for member in members.values():
        builder.add_node(member)
    for edge in ("ab", "ac", "cd"):
        builder.add_edge(members[edge[0]], members[edge[1]])
    builder.add_edge(members["b"], members["a"], condition="again")
    builder.add_edge(members["b"], members["d"], condition="ok")
    builder.set_entry_point(members["a"])
    return GraphFlow([*members.values()], builder.build(), max_turns=2)


async def test_the_same_graph_goes_on_in_its_middle(caplog: pytest.LogCaptureFixture) -> None:
    """As a team that is run again."""
    async with chat(looping) as say:
        said = [await say(text, looping) for text in ("two", "three", "four")]
    team = looping()
    expected = [
        [each.source for each in (await team.run(task=task)).messages] for task in ("one", "two", "three", "four")
    ]
    assert [[line.partition(":")[0] for line in each.split(" | ")] for each in said] == expected[1:]
    assert any("d" in each for each in expected[1:])
    assert not caplog.text


async def test_who_begins_anew_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async with chat(lambda: team(Counts())) as say:
        await say("two", lambda: team(Counts("total")))
        assert "'c' of RoundRobinGroupChat begins anew: it can't load its state (KeyError: 'total')" in caplog.text
        caplog.clear()
        await say("three", lambda: team(Counts("total")))
        assert not caplog.text


async def test_a_state_that_can_not_be_loaded_now_is_kept() -> None:
    """What is away says nothing of the state."""
    async with chat(lambda: team(Counts())) as say:
        AWAY.extend([ConnectionError("gone"), bp.RetryLater(0.01)])
        policy = bp.Retry(attempts=3, first=0.01)
        assert await say("two", lambda: team(Counts()), retries=policy) == "user: two | c: 2"
