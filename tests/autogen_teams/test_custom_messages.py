"""Messages of the user's own classes, which need not have AutoGen's fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from autogen_agentchat.agents import BaseChatAgent, UserProxyAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken
from autogen_core.models import LLMMessage, UserMessage

from batonpass.testing import serving

from ..apps.autogen_app import Draft, Report, Score, speaker
from ..apps.autogen_kit import only
from ..apps.kit import question

pytestmark = [pytest.mark.capability("autogen"), pytest.mark.usefixtures("log")]


class Order(BaseChatMessage):
    number: int
    type: str = "Order"

    def to_text(self) -> str:
        return f"order {self.number}"

    def to_model_text(self) -> str:
        return self.to_text()

    def to_model_message(self) -> UserMessage:
        return UserMessage(content=self.to_text(), source=self.source)


class Progressed(BaseAgentEvent):
    done: float
    type: str = "Progressed"

    def to_text(self) -> str:
        return f"{self.done:.0%}"


class Shop(BaseChatAgent):
    def __init__(self, name: str) -> None:
        super().__init__(name, "takes orders")

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (Order,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        progress = Progressed(source=self.name, done=0.5)
        return Response(chat_message=Order(source=self.name, number=7), inner_messages=[progress])

    async def on_reset(self, cancellation_token: CancellationToken) -> None: ...


def heard(_: int, messages: Sequence[LLMMessage]) -> str:
    return " / ".join(str(message.content) for message in messages)


def team() -> RoundRobinGroupChat:
    members: list[Any] = [Shop("shop"), UserProxyAgent("boss"), speaker("clerk", heard)]
    return RoundRobinGroupChat(members, max_turns=3, custom_message_types=[Order, Progressed])


async def test_a_team_goes_on_from_messages_without_a_content() -> None:
    app = only(team, leave=lambda result, ctx: Report(body=" | ".join(each.to_text() for each in result.messages)))
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Draft(text="go"))
        assert (await question(job))["text"] == "order 7"
        await job.answer("fine")
        told = (await job.result(timeout=30)).body
    assert told == "go | 50% | order 7 | fine | go / order 7 / fine"


async def test_a_team_in_a_team_knows_its_assistants_structured_messages() -> None:
    """AutoGen itself wants them in `custom_message_types=`."""

    def nested() -> RoundRobinGroupChat:
        judge = speaker("judge", lambda *_: '{"points": 1, "reason": "a"}', output_content_type=Score)
        inner = RoundRobinGroupChat([judge, speaker("clerk", heard)], max_turns=2, name="inner")
        return RoundRobinGroupChat([inner], max_turns=1)

    told = await only(nested).run("a", Draft(text="go"), timeout=30)
    assert told == Report(body='go / {"points":1,"reason":"a"}')
