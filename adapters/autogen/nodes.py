"""Nodes: what the members of a graph answered in a turn that has to run again, because one of them asks a person.

A turn of a graph is all nodes that run side by side. Those that had answered when the turn ended with a question are
not asked again: their answers are kept with the question, and the state in which these left them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from autogen_agentchat.base import ChatAgent, Response
from autogen_agentchat.messages import BaseChatMessage
from autogen_agentchat.teams import BaseGroupChat, GraphFlow
from autogen_core import CancellationToken

from ...contracts.codec import pack
from . import private
from .members import load_unsaved_state, unsaved_state

Read = Callable[[Mapping[str, Any]], Any]


class Nodes:
    """The nodes of a team that is a graph (other teams have one speaker in a turn). `kept` are the answers that were
    given before the question, by node."""

    def __init__(self, team: BaseGroupChat, read: Read) -> None:
        self.kept: Mapping[str, Any] = {}
        self._team = team
        self._read = read
        self._given: dict[str, dict[str, Any]] = {}
        for node in private.participants(team) if isinstance(team, GraphFlow) else []:
            if isinstance(node, ChatAgent):
                self._keep(node)

    def turned(self) -> None:
        """The turn has ended: in the next one the same node may hear the same."""
        self.kept, self._given = {}, {}

    async def answered(self, states: Mapping[str, Any], asking: Collection[str]) -> dict[str, Any]:
        """What the nodes answered in the turn that has ended, without those that are still `asking`. `states` are the
        members' now."""
        parts = await unsaved_state(self._team)
        return {
            name: {
                **given,
                "state": states[name]["agent_state"],
                "parts": [part for part in parts if part["path"][0] == name],
            }
            for name, given in self._given.items()
            if name not in asking
        }

    def _keep(self, node: ChatAgent) -> None:
        original = node.on_messages_stream

        async def kept(
            messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
        ) -> AsyncGenerator[Any]:
            heard = blake2b(pack([message.dump() for message in messages]), digest_size=16).digest()
            before = self.kept.get(node.name)
            if before is not None and before["heard"] == heard:
                yield await self._again(node, before)
                return
            async for item in original(messages, cancellation_token):
                if isinstance(item, Response):
                    inner = [message.dump() for message in item.inner_messages or ()]
                    self._given[node.name] = {"heard": heard, "said": item.chat_message.dump(), "inner": inner}
                yield item

        node.on_messages_stream = kept  # type: ignore[method-assign]

    async def _again(self, node: ChatAgent, before: Mapping[str, Any]) -> Response:
        """What a node answered, which then is in the state that it was in after that."""
        await node.load_state(before["state"])
        await load_unsaved_state(self._team, before["parts"])
        self._given[node.name] = {part: before[part] for part in ("heard", "said", "inner")}
        return Response(chat_message=self._read(before["said"]), inner_messages=[*map(self._read, before["inner"])])
