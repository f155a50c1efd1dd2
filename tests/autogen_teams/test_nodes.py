"""Nodes of a graph that do work of their own: once, also if their turn runs again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partialmethod
from typing import Any, ClassVar

import pytest
from autogen_agentchat.agents import BaseChatAgent, MessageFilterAgent, MessageFilterConfig, UserProxyAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, TextMessage, ThoughtEvent
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow
from autogen_core import CancellationToken

import batonpass as bp
from batonpass.adapters.autogen.nodes import Nodes
from batonpass.testing import serving

from ..apps.autogen_app import Draft, Report, says, speaker
from ..apps.autogen_kit import only
from ..apps.kit import question

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


class Mailer(BaseChatAgent):
    """Sends a mail, and knows how many it has sent."""

    def __init__(self, sent: list[str]) -> None:
        super().__init__("mailer", "sends mails")
        self.outbox = sent
        self.count = 0

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        self.count += 1
        self.outbox.append("mail")
        thought = ThoughtEvent(source=self.name, content="hm")
        return Response(
            chat_message=TextMessage(source=self.name, content=f"sent {self.count}"), inner_messages=[thought]
        )

    async def on_reset(self, cancellation_token: CancellationToken) -> None: ...

    async def save_state(self) -> Mapping[str, Any]:
        return {"count": self.count}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        self.count = state["count"]


def beside(mailer: Any, *others: Any) -> GraphFlow:
    """A graph: `start`, then the mailer beside the others, then `end`."""
    builder = DiGraphBuilder()
    start, end = speaker("start", says("begin")), speaker("end", says("end"))
    for node in (start, mailer, *others, end):
        builder.add_node(node)
    for node in (mailer, *others):
        builder.add_edge(start, node).add_edge(node, end)
    return GraphFlow(builder.get_participants(), graph=builder.build())


def texts(result: Any) -> Report:
    return Report(body=" | ".join(sorted(f"{each.source} {each.to_text()}" for each in result.messages)))


class Person(UserProxyAgent):
    """Counts how often it is asked."""

    asked = 0

    def on_messages_stream(self, *arguments: Any) -> Any:
        Person.asked += 1
        return super().on_messages_stream(*arguments)


@pytest.mark.parametrize("filtered", [False, True])
async def test_what_it_did_beside_questions_is_not_done_again(filtered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it knows of it in the next job."""
    monkeypatch.setattr(Person, "asked", 0)
    sent: list[str] = []
    asked: list[Any] = [None]

    def team() -> GraphFlow:
        mailer = Mailer(sent)
        node = MessageFilterAgent("mailer", mailer, MessageFilterConfig(per_source=[])) if filtered else mailer
        return beside(node, Person("ann"), Person("bob"))

    async with serving(only(team, leave=texts, memory="thread")) as coordinator:
        for number in (1, 2):
            job = await coordinator.submit("a", Draft(text="go"), returns=Report, thread="t")
            for name in ("ann", "bob"):
                asked.append(await question(job, asked[-1]))
                assert asked[-1]["to"] == name
                await job.answer(f"yes, {name}")
            told = (await job.result(timeout=30)).body
            tip = await coordinator.latest(thread="t")
            assert tip is not None
            assert "answered" not in tip.native
            assert told == (
                f"ann yes, ann | bob yes, bob | end end | mailer hm | mailer sent {number} | start begin | user go"
            )
    assert sent == ["mail"] * 2
    assert Person.asked == 8  # both of each turn, without an answer and with all


class Forgetful(UserProxyAgent):
    """Fails while it has something to fail for."""

    errors: ClassVar[list[Exception]] = []

    def on_messages_stream(self, *arguments: Any) -> Any:
        if self.errors:
            raise self.errors.pop()
        return super().on_messages_stream(*arguments)


async def test_it_answers_what_was_edited() -> None:
    sent: list[str] = []
    app = only(lambda: beside(Mailer(sent), Forgetful("ann")), leave=texts, retries=1)
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        await question(job)
        Forgetful.errors.append(ValueError("no"))
        await job.answer("yes")
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=30)
        assert sent == ["mail"]
        await coordinator.redrive(job.id, changes={"messages[1].content": "begin otherwise"})
        assert "start begin otherwise" in (await job.result(timeout=30)).body
    assert sent == ["mail"] * 2


def mailed(sent: list[str]) -> tuple[DiGraphBuilder, Any, Any, Any]:
    """The nodes of a graph, without its edges."""
    builder = DiGraphBuilder()
    mailer, boss, end = Mailer(sent), UserProxyAgent("boss"), speaker("end", says("end"))
    for node in (mailer, boss, end):
        builder.add_node(node)
    return builder, mailer, boss, end


async def test_a_second_turn_is_not_answered_with_the_first_ones() -> None:
    """And knows what it knew after that, which another process had answered."""
    sent: list[str] = []

    def team() -> GraphFlow:
        builder, mailer, boss, end = mailed(sent)
        builder.add_edge(mailer, boss).add_edge(boss, mailer, condition="again").add_edge(boss, end, condition="enough")
        return GraphFlow(builder.get_participants(), graph=builder.set_entry_point(mailer).build(), max_turns=9)

    async with serving(only(team, leave=texts)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        asked = await question(job)
        await job.answer("again")
        assert (await question(job, asked))["text"] == "sent 2"
        await job.answer("enough")
        await job.result(timeout=30)
    assert sent == ["mail", "mail"]


async def test_what_it_did_in_the_first_turn_is_not_done_again_either() -> None:
    sent: list[str] = []

    def team() -> GraphFlow:
        builder, mailer, boss, end = mailed(sent)
        builder.add_edge(mailer, end).add_edge(boss, end)
        return GraphFlow(builder.get_participants(), graph=builder.build())

    async with serving(only(team, leave=texts)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        await question(job)
        await job.answer("yes")
        assert "mailer sent 1" in (await job.result(timeout=30)).body
    assert sent == ["mail"]


class Late(Person):
    """Is asked only when its turn runs again, as with workers of older releases."""

    runs = 0

    def on_messages_stream(self, messages: Any, cancellation_token: Any) -> Any:
        Late.runs += 1
        return super().on_messages_stream(messages, cancellation_token) if Late.runs > 1 else self._waits()

    async def _waits(self) -> AsyncGenerator[Any]:
        yield Response(chat_message=TextMessage(source=self.name, content="not yet"))


async def test_people_who_are_asked_one_run_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Late, "runs", 0)
    monkeypatch.setattr(Nodes, "answered", partialmethod(without, Nodes.answered, "bob"))
    app = only(lambda: beside(Mailer([]), Person("ann"), Late("bob")), leave=texts)
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        asked = await question(job)
        await job.answer("yes, ann")
        assert (await question(job, asked))["to"] == "bob"
        await job.answer("yes, bob")
        told = (await job.result(timeout=30)).body
    assert "ann yes, ann | bob yes, bob" in told


async def without(nodes: Nodes, answered: Any, name: str, *arguments: Any) -> dict[str, Any]:
    kept: dict[str, Any] = await answered(nodes, *arguments)
    kept.pop(name, None)
    return kept


class Counting(Mailer):
    """Sends mails until there are five."""

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        await super().on_messages(messages, cancellation_token)
        text = {1: "again, and ask", 5: "stop"}.get(self.count, "again")
        return Response(chat_message=TextMessage(source=self.name, content=f"{text} {self.count}"))


async def test_it_answers_anew_in_each_turn_also_if_it_hears_the_same() -> None:
    """Nothing, in a node that repeats itself."""
    sent: list[str] = []

    def team() -> GraphFlow:
        builder = DiGraphBuilder()
        start, mailer, boss = speaker("start", says("begin")), Counting(sent), UserProxyAgent("boss")
        end = speaker("end", says("end"))
        for node in (start, mailer, boss, end):
            builder.add_node(node)
        builder.add_edge(start, mailer, activation_group="in", activation_condition="any")
        builder.add_edge(mailer, mailer, "again", activation_group="loop", activation_condition="any")
        builder.add_edge(mailer, boss, "ask").add_edge(mailer, end, "stop").set_entry_point(start)
        return GraphFlow(builder.get_participants(), graph=builder.build(), max_turns=20)

    async with serving(only(team, leave=texts)) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"), returns=Report)
        await question(job)
        await job.answer("yes")
        told = (await job.result(timeout=30)).body
    said = [line for line in told.split(" | ") if line.startswith("mailer")]
    assert said == ["mailer again 2", "mailer again 3", "mailer again 4", "mailer again, and ask 1", "mailer stop 5"]
    assert len(sent) == 5
