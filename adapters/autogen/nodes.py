"""Nodes: members of a graph that do work of their own, which their turn must not repeat.

A turn of a graph is all nodes that run side by side. If one of them asks a person, or the worker is killed, it runs
again. What models and tools answered in it is recorded. What code of the user's own did in a node is not known to us,
so the node's whole answer is.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from autogen_agentchat.agents import (
    AssistantAgent,
    CodeExecutorAgent,
    MessageFilterAgent,
    SocietyOfMindAgent,
    UserProxyAgent,
)
from autogen_agentchat.base import ChatAgent, Response, Team
from autogen_agentchat.messages import BaseChatMessage
from autogen_core import CancellationToken

from . import private
from .journal import current, own_part

_RECORDED = (AssistantAgent, CodeExecutorAgent, SocietyOfMindAgent)


def answer_once(node: ChatAgent | Team, read: Callable[[Mapping[str, Any]], Any]) -> None:
    """Let the journal answer for a node that does work of its own. `read` makes a message of its dump."""
    own: Any = node
    while isinstance(own, MessageFilterAgent):  # whose state leaves out its agent's
        own = private.filtered_agent(own)
    if isinstance(node, ChatAgent) and isinstance(own, ChatAgent) and not _is_recorded(own):
        node.on_messages_stream = _answering(node, own, read)  # type: ignore[method-assign]


def _is_recorded(agent: ChatAgent) -> bool:
    """Whether AutoGen's own code does all of its work, through models and tools, or a person does it."""
    kind: Any = type(agent)
    return isinstance(agent, UserProxyAgent) or any(
        kind.on_messages is known.on_messages and kind.on_messages_stream is known.on_messages_stream
        for known in _RECORDED
    )


def _answering(node: ChatAgent, own: Any, read: Callable[[Mapping[str, Any]], Any]) -> Any:
    original, caller = node.on_messages_stream, own_part(node.name, "answer")

    async def answered(messages: Sequence[BaseChatMessage], token: CancellationToken) -> AsyncGenerator[Any]:
        """What the node says and does. Only its answer if that was recorded."""
        journal = current.get()
        if journal is None:
            async for item in original(messages, token):
                yield item
            return
        digest, recorded = journal.recall(caller, [message.dump() for message in messages])
        if recorded is not None:
            await own.load_state(recorded["left"])
            yield Response(chat_message=read(recorded["said"]), inner_messages=[*map(read, recorded["inner"])])
            return
        async for item in original(messages, token):
            if isinstance(item, Response):
                inner = [message.dump() for message in item.inner_messages or ()]
                answer = {"said": item.chat_message.dump(), "inner": inner, "left": dict(await own.save_state())}
                await journal.record(caller, digest, answer)
            yield item

    return answered
