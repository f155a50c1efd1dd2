"""Correcting: if a team's result does not fit the contract, the team is told why, and continues."""

from __future__ import annotations

import json
from typing import Any

from autogen_agentchat.messages import HandoffMessage, TextMessage
from autogen_agentchat.teams import GraphFlow, Swarm

from ...contracts.agent import Agent
from ...contracts.errors import ContractViolation
from .progress import Progress
from .team import Adopted

# As often as CrewAI's guardrails send a result back (Task.guardrail_max_retries).
_CORRECTIONS = 3


def correctable(agent: Agent[Any], team: Adopted, progress: Progress) -> bool:
    """Whether the team can be asked again: it continues from where it ended, and no `leave=` reads its result.

    A GraphFlow that has ended would begin again from its first node. A team that its task has stopped said nothing.
    """
    goes_on = team.stepped and not isinstance(team.team, GraphFlow) and not progress.begins
    return goes_on and agent.leave is None and progress.corrected < _CORRECTIONS


async def corrected(agent: Agent[Any], team: Adopted, progress: Progress, error: ContractViolation) -> Progress:
    """The progress of a team that is told what is wrong."""
    contract = agent.returns or next(iter(agent.hands_to.values()))
    schema = json.dumps(contract.model_json_schema(), ensure_ascii=False)
    text = f"{error}. Answer with nothing but JSON of this schema: {schema}"
    message: TextMessage | HandoffMessage = TextMessage(source="user", content=text)
    if isinstance(team.team, Swarm):
        speaker = next(dump["source"] for dump in reversed(progress.messages) if dump["source"] in team.names)
        message = HandoffMessage(source="user", target=speaker, content=text)
    await team.reset_limits()
    more = progress.more([*progress.pending, message.dump()])
    more.joins = bool(progress.pending)  # an answer that ended the team, and that nobody has read
    more.corrected += 1
    return more
