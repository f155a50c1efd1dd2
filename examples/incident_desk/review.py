"""The review: an AutoGen team of two. The reviewer checks the figures, the editor files the typed report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Response
from autogen_agentchat.conditions import FunctionalTermination, MaxMessageTermination
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, StructuredMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken
from autogen_core.models import AssistantMessage

from .contracts import Report
from .evidence import begin
from .models.autogen import review_client
from .models.prose import APPROVED

MAX_MESSAGES = 9  # the draft and four rounds; a real model may never be content

REVIEWER = (
    "You review post-mortems. Check that every figure of the draft's list is quoted in its text, or in the editor's "
    f"report. Name those that are missing, one a line; when none is missing say {APPROVED}. Judge nothing else."
)
EDITOR = (
    "You file the report of the incident from the draft, with all of the draft's figures and what the reviewer asked "
    f"for, quoted exactly. `approved` is true only once the reviewer said {APPROVED}. `reviewers`: reviewer, editor."
)


class Seat(AssistantAgent):
    """An assistant that notes each turn that it begins, for the demo's proof."""

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        spoken = [m for m in await self.model_context.get_messages() if isinstance(m, AssistantMessage)]
        await asyncio.to_thread(begin, f"review: {self.name} {len(spoken) + 1}")
        async for message in super().on_messages_stream(messages, cancellation_token):
            yield message


def _filed(messages: Sequence[Any]) -> bool:
    return any(isinstance(message.content, Report) and message.content.approved for message in messages)


def build() -> RoundRobinGroupChat:
    """The team. Each turn is a checkpoint."""
    client = review_client()
    reviewer = Seat("reviewer", model_client=client, system_message=REVIEWER)
    editor: Any = Seat("editor", model_client=client, system_message=EDITOR, output_content_type=Report)
    return RoundRobinGroupChat(
        [reviewer, editor],
        termination_condition=FunctionalTermination(_filed) | MaxMessageTermination(MAX_MESSAGES),
        custom_message_types=[StructuredMessage[Report]],
    )
