"""Renewing: the states with which other members than before continue a conversation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from autogen_agentchat.agents import SocietyOfMindAgent
from autogen_agentchat.base import Team
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage
from autogen_agentchat.teams import BaseGroupChat

from ..dialects import dict_of
from . import private
from .folding import Dump, heard
from .members import Member, can_load

AWAITS = "awaits"
"""In the state of a graph's manager: for how many others its members wait."""

Read = Callable[[Dump], BaseAgentEvent | BaseChatMessage]
States = Mapping[str, Any]


def check_kinds(before: States, fresh: States) -> None:
    """`ValueError` if a member is of another class than the one that had its name, or if a graph has other edges:
    AutoGen would load its state, and forget what it said, or wait for edges that are gone."""
    for name in before.keys() & fresh.keys():
        if _kind_of(before[name]) != _kind_of(fresh[name]):
            raise ValueError(f"{name!r} is another kind of member than before")
        if not _goes_on(before[name], fresh[name]):
            raise ValueError("its graph has other edges")
        check_kinds(_within(before[name]), _within(fresh[name]))


async def renewed(team: Team, fresh: States, before: States, thread: list[Dump], read: Read) -> dict[str, Any]:
    """The states of a fresh team after the messages of `thread`. `before` are those of the team in which they were
    said, and `read` makes messages of their dumps.

    Who stays keeps its state. A new `AssistantAgent` has in its context what was said. Others begin anew: they would
    act on it once more, say run its code. So does who can't load what it should have.
    """
    members = {member.name: member for member in private.participants(team)}
    found = dict(fresh)
    for name, state in fresh.items():
        if name in members:
            stays = name in before and _kind_of(before[name]) == _kind_of(state)
            kept = await _kept(members[name], state, before[name], read) if stays else None
            tries = [kept, _told(name, state, thread, read)]
        else:  # the manager's
            stays = [*before] == [*fresh] and _goes_on(before[name], state)
            tries = [before[name] if stays else None, _heard(state, thread, fresh.keys())]
        for each in filter(None, tries):
            if await can_load(f"{name!r} of {team.name}", partial(_load, team, fresh, name), each):
                found[name] = each
                break
    return found


async def _load(team: Team, fresh: States, name: str, state: Any) -> None:
    await team.load_state({"agent_states": {**fresh, name: state}})


async def _kept(member: Member, fresh: Any, before: Any, read: Read) -> Any:
    """The state of a member that stays. If it is a team or has one, that of a renewed team."""
    team = private.inner_team(member) if isinstance(member, SocietyOfMindAgent) else member
    had = _within(before)
    if not isinstance(team, BaseGroupChat) or not had:
        return before
    said = [dump for state in had.values() for dump in dict_of(state).get("message_thread", ())]  # the manager's
    states = await renewed(team, _within(fresh), had, said, read)
    return {**before, "agent_state": _with_states(before["agent_state"], states)}


def _goes_on(before: Any, fresh: Any) -> bool:
    """Whether a graph's manager can go on from a state. Where it is not recorded how its graph was, as inside of other
    teams: unless a member waits for more than there are. (A manager counts down for how many each one waits.)"""
    if AWAITS in dict_of(before):
        return bool(before[AWAITS] == fresh.get(AWAITS))
    had, waits = _waits(before), _waits(fresh)
    return had.keys() == waits.keys() and all(had[each] <= waits[each] for each in had)


def _waits(manager: Any) -> dict[tuple[str, str], int]:
    remaining = dict_of(dict_of(manager).get("remaining"))
    return {(name, group): number for name, groups in remaining.items() for group, number in groups.items()}


def _kind_of(state: Any) -> Any:
    return dict_of(dict_of(state).get("agent_state")).get("type")


def _within(state: Any) -> dict[str, Any]:
    """The states in the state of a member that is a team, or has one."""
    agent = dict_of(dict_of(state).get("agent_state"))
    return dict_of(agent.get("agent_states")) or dict_of(dict_of(agent.get("inner_team_state")).get("agent_states"))


def _with_states(agent: dict[str, Any], states: States) -> dict[str, Any]:
    if "agent_states" in agent:
        return {**agent, "agent_states": states}
    return {**agent, "inner_team_state": _with_states(agent["inner_team_state"], states)}


def _heard(manager: Any, thread: list[Dump], names: Collection[str]) -> Any:
    """A new manager's state. A swarm does not go on with a handoff to a member that is gone."""
    return {**manager, "message_thread": [dump for dump in thread if dump.get("target") in (None, *names)]}


def _told(name: str, state: Any, thread: list[Dump], read: Read) -> Any:
    """An `AssistantAgent`'s state. None if it is another's."""
    agent = state["agent_state"]
    context = dict_of(dict_of(agent).get("llm_context"))
    if _kind_of(state) != "AssistantAgentState" or "messages" not in context:
        return None
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
