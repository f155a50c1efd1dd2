"""Frameworks' messages as portable ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from batonpass.adapters.autogen.transcript.messages import AUTOGEN
from batonpass.adapters.crewai.transcript.messages import OPENAI
from batonpass.adapters.langgraph.transcript.messages import LANGCHAIN
from batonpass.contracts.transcript import Message

if TYPE_CHECKING:
    from autogen_core.models import LLMMessage
    from langchain_core.messages import BaseMessage


def from_autogen(messages: Iterable[LLMMessage]) -> list[Message]:
    """The messages of a model's context."""
    return [AUTOGEN.read(message.model_dump(mode="json")) for message in messages]


def from_crewai(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """CrewAI's `LLMMessage` dicts."""
    return [OPENAI.read(message) for message in messages]


def from_langchain(messages: Iterable[BaseMessage]) -> list[Message]:
    """LangChain's messages, as a checkpoint keeps them."""
    from batonpass.adapters.langgraph.serde.plain import message_as_dict, messages_as_dicts

    return [LANGCHAIN.read((messages_as_dicts([each]) or [message_as_dict(each)])[0]) for each in messages]
