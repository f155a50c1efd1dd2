"""Renewing: the states with which other members than before continue a conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage

from ..dialects import dict_of
from .folding import Dump, heard

Read = Callable[[Dump], BaseAgentEvent | BaseChatMessage]


def renewed(states: Mapping[str, Any], before: Mapping[str, Any], thread: list[Dump], read: Read) -> dict[str, Any]:
    """The states of a fresh team after the messages of `thread`. `before` are those of the members that said them, and
    `read` makes messages of their dumps."""
    return {name: _told(name, state, before.get(name), thread, read) for name, state in states.items()}


def _told(name: str, state: Any, before: Any, thread: list[Dump], read: Read) -> Any:
    """A member's state. Who stays keeps it. A new `AssistantAgent` has in its context what was said. Others begin anew:
    they would act on it once more, say run its code."""
    if "agent_state" not in state:
        return state  # the manager's
    if before is not None and kind_of(before) == kind_of(state):
        return before
    agent = state["agent_state"]
    context = agent.get("llm_context")
    if agent.get("type") != "AssistantAgentState" or "messages" not in context:
        return state
    messages = [*context["messages"], *_context(name, thread, read)]
    return {**state, "agent_state": {**agent, "llm_context": {**context, "messages": messages}}}


def kind_of(state: Any) -> Any:
    """What must be the same for a member to go on from a state: its kind, and if it is a team, its members."""
    agent = dict_of(dict_of(state).get("agent_state"))
    return agent.get("type"), {name: kind_of(each) for name, each in dict_of(agent.get("agent_states")).items()}


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
