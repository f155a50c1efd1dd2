"""Beginning: what a team's visit starts with, if it remembers an earlier one."""

from __future__ import annotations

from typing import Any, cast

from autogen_agentchat.messages import BaseChatMessage, HandoffMessage
from autogen_agentchat.teams import Swarm

from ...contracts.agent import Agent
from ...contracts.errors import BadSetup
from .folding import Dump
from .progress import Progress
from .team import Adopted


def begun(agent: Agent[Any], team: Adopted, left: Progress | None, task: list[Dump]) -> Progress:
    """The progress of a visit that begins, with what the team's last visit has left, if it remembers any."""
    if not team.stepped and (left is not None or agent.memory == "thread"):
        raise BadSetup(
            f"agent {agent.name!r} has memory={agent.memory!r}, but its team can't be continued from its state: "
            "AutoGen does that for RoundRobinGroupChat, SelectorGroupChat, Swarm and GraphFlow"
        )
    return Progress(pending=task) if left is None else left.again(_addressed(team, left.messages, task))


def _addressed(team: Adopted, said: list[Dump], task: list[Dump]) -> list[Dump]:
    """A task, addressed to a member of a swarm if the last handoff was to nobody in the team: AutoGen continues with no
    other."""
    last = next((dump for dump in reversed(said) if dump["type"] == "HandoffMessage"), None)
    if last is None or last["target"] in team.names or task[0]["type"] == "HandoffMessage":
        return task
    if not isinstance(team.team, Swarm) and last["source"] not in team.in_swarms:
        return task
    first = cast(BaseChatMessage, team.message(task[0]))
    to = team.addressee(said)
    return [HandoffMessage(source=first.source, target=to, content=first.to_text()).dump(), *task[1:]]
