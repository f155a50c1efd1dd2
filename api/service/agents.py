"""Agents: what programs can ask about them, and how they are paused."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from batonpass.contracts.declared import AgentInfo
from batonpass.coordinator.client import Coordinator

from .answers import PausedAgent
from .bodies import All, Body
from .operation import Operation
from .refusing import answer


class NamedAgent(Body):
    """Which agent is meant."""

    agent: str


class AgentPause(NamedAgent):
    """Which agent is to be paused, and why."""

    reason: str = ""
    """For those who see its jobs wait."""


def agent_operations(coordinator: Coordinator) -> list[Operation]:
    """What can be asked about agents."""
    ends = _Agents(coordinator)
    return [
        Operation("GET", "/agents", ends.agents, All, list[AgentInfo]),
        Operation("POST", "/agents/pause", ends.pause_agent, AgentPause, PausedAgent),
        Operation("POST", "/agents/resume", ends.resume_agent, NamedAgent, PausedAgent),
    ]


class _Agents:
    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    async def agents(self, _: Request, __: All) -> Response:
        """List the agents that are declared in the store."""
        return answer([agent.as_dict() for agent in await self._coordinator.agents()])

    async def pause_agent(self, _: Request, given: AgentPause) -> Response:
        """Let no worker start jobs of an agent until it is resumed. Jobs that run go on."""
        changed = await self._coordinator.pause_agent(given.agent, reason=given.reason)
        return answer(vars(PausedAgent(given.agent, paused=True, changed=changed)))

    async def resume_agent(self, _: Request, given: NamedAgent) -> Response:
        """Let workers start a paused agent's jobs again."""
        changed = await self._coordinator.resume_agent(given.agent)
        return answer(vars(PausedAgent(given.agent, paused=False, changed=changed)))
