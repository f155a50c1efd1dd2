"""Renewing: the states with which other members than before continue a conversation. They know what was said in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, HandoffMessage, TextMessage

from .folding import Dump, heard

Read = Callable[[Dump], BaseAgentEvent | BaseChatMessage]


def renewed(states: Mapping[str, Any], thread: list[Dump], read: Read) -> dict[str, Any]:
    """The states of a fresh team after the messages of `thread`. `read` makes messages of their dumps."""
    return {name: _told(name, state, thread, read) for name, state in states.items()}


def _told(name: str, state: Any, thread: list[Dump], read: Read) -> Any:
    """A member's state. An `AssistantAgent` has what it said and did in its context. To others, all is new."""
    if "agent_state" not in state:
        return state  # the manager's
    agent = state["agent_state"]
    if agent.get("type") != "AssistantAgentState":
        return {**state, "message_buffer": _unread(name, thread, read)}
    context = agent["llm_context"]
    messages = [*context["messages"], *_context(name, thread, read)]
    return {**state, "agent_state": {**agent, "llm_context": {**context, "messages": messages}}}


def _context(name: str, thread: list[Dump], read: Read) -> list[Any]:
    found: list[Any] = []
    own: list[Dump] = []
    for dump in thread:
        message = read(dump)
        if message.source == name:
            own.append(dump)
            if dump["type"] != "ThoughtEvent":  # which belongs to what follows
                found += heard(name, own)
                own = []
        elif isinstance(message, BaseChatMessage):
            found += [*(dump.get("context") or ()), message.to_model_message().model_dump(mode="json")]
    return found


def _unread(name: str, thread: list[Dump], read: Read) -> list[Any]:
    """What others said. A handoff becomes a text, because a team inside the team would look for its target."""
    others = (message for message in map(read, thread) if message.source != name)
    spoken = (message for message in others if isinstance(message, BaseChatMessage))
    return [_plain(message).dump() for message in spoken]


def _plain(message: BaseChatMessage) -> BaseChatMessage:
    if isinstance(message, HandoffMessage):
        return TextMessage(source=message.source, content=message.content)
    return message
