"""Beginning: what a team's visit starts with, if it remembers an earlier one."""

from __future__ import annotations

from typing import Any

from autogen_agentchat.messages import BaseChatMessage, HandoffMessage

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
    """A task, addressed to the member of a swarm that had handed off to somebody outside: AutoGen continues with no
    other."""
    first = team.message(task[0])
    last = next((each for each in map(team.message, reversed(said)) if isinstance(each, BaseChatMessage)), None)
    if not isinstance(last, HandoffMessage) or last.source not in team.in_swarms or last.target in team.names:
        return task
    if isinstance(first, HandoffMessage):
        return task
    return [HandoffMessage(source=first.source, target=team.addressee(said), content=first.to_text()).dump(), *task[1:]]
