"""Members: the agents and teams inside a team, at any depth and in tools, and the state that their team leaves out."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from autogen_agentchat.agents import AssistantAgent, CodeExecutorAgent, MessageFilterAgent, SocietyOfMindAgent
from autogen_agentchat.base import ChatAgent, Team
from autogen_agentchat.teams import BaseGroupChat, RoundRobinGroupChat, SelectorGroupChat

from ...contracts.errors import BatonpassError
from . import private
from .deciders import asked_once
from .errors import Report, report_errors
from .keepers import Keeper, Load, Save, keepers_of, own_state
from .models import JournaledModel, watch_models
from .tools import adopt_bench, adopt_code, adopt_errors, adopted

_log = logging.getLogger("batonpass.autogen")

TRANSIENT = (BatonpassError, OSError)
"""What says nothing of a state that can't be loaded."""
_TAKEN = "taken_by_batonpass"

Member = ChatAgent | Team
Path = tuple[str, ...]


def within(member: Member, above: Path = ()) -> Iterator[tuple[Path, Member]]:
    """Every member below `member`, with its path of names."""
    for child in _children(member):
        path = (*above, child.name)
        yield path, child
        yield from within(child, path)


def _all(team: Team) -> list[tuple[Path, Member]]:
    """The team and every member, each once: an agent may be a tool of several members."""
    return list({id(member): (path, member) for path, member in [((), team), *within(team)]}.values())


def teams_within(team: BaseGroupChat) -> list[BaseGroupChat]:
    """The team and all teams inside it."""
    return [team, *(member for _, member in within(team) if isinstance(member, BaseGroupChat))]


async def keepers_within(team: Team) -> list[Keeper]:
    """The members' tools and workbenches that keep a state."""
    agents = ((path, member) for path, member in _all(team) if isinstance(member, AssistantAgent))
    return await keepers_of((_caller(path), agent) for path, agent in agents)


def take(team: BaseGroupChat, keepers: Iterable[Keeper]) -> str | None:
    """Mark every part of a team that remembers a run, so that no other run gets it. Returns the name of a part that
    another run has had, None if all are new."""
    parts: list[tuple[str, Any]] = [(f"{type(each).__name__} {each.name!r}", each) for _, each in _all(team)]
    for _, member in _all(team):
        if isinstance(member, AssistantAgent | SocietyOfMindAgent | CodeExecutorAgent):
            parts.append((f"the model context of {member.name!r}", member.model_context))
    for each in teams_within(team):
        parts += [(f"a {type(condition).__name__}", condition) for condition in private.conditions(each)]
    parts += [(keeper.what, keeper.owner) for keeper in keepers]
    used = next((name for name, part in parts if getattr(part, _TAKEN, False)), None)
    for _, part in parts:
        object.__setattr__(part, _TAKEN, True)  # a frozen dataclass can be a condition, too
    return used


def check_members(team: BaseGroupChat, states: Mapping[str, Any]) -> None:
    """LookupError if saved states are from another team. AutoGen wouldn't notice: it ignores the state of a member that
    is gone, and whoever is in its place speaks next."""
    manager = private.manager_name(team)
    if manager not in states:
        raise LookupError(f"it is a {type(team).__name__}, and was another kind of team")
    had = [name for name in states if name != manager]
    has = [member.name for member in private.participants(team)]
    if not isinstance(team, RoundRobinGroupChat):  # which counts its members
        had, has = sorted(had), sorted(has)
    if had != has:
        raise LookupError(f"{team.name} has the members {', '.join(has)}, and had {', '.join(had)}")
    for member in private.participants(team):
        if isinstance(member, BaseGroupChat) and "agent_states" in (inner := states[member.name]["agent_state"]):
            check_members(member, inner["agent_states"])


async def unsaved_state(team: Team) -> list[dict[str, Any]]:
    """The members' states that their team's `save_state` leaves out, each with the member's path."""
    found: list[dict[str, Any]] = []
    for path, member in within(team):
        for name, (save, _) in _left_out(member).items():
            if state := dict(await save()):
                found.append({"path": list(path), "of": name, "state": state})
    return found


async def load_unsaved_state(team: Team, saved: list[dict[str, Any]]) -> None:
    """Give the members back what `unsaved_state` found."""
    members = dict(within(team))
    for item in saved:
        _, load = _left_out(members[tuple(item["path"])])[item["of"]]
        await load(item["state"])


async def load_what_fits(team: Team, saved: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Load what of `unsaved_state` the members of a changed team still have a place for, and return it."""
    members = dict(within(team))
    found: list[dict[str, Any]] = []
    for item in saved:
        path, part = tuple(item["path"]), item["of"]
        ways = _left_out(members[path]) if path in members else {}
        if part in ways and await can_load(f"{part} of {_caller(path)}", ways[part][1], item["state"]):
            found.append(item)
    return found


async def can_load(what: str, load: Load, state: Any) -> bool:
    """Load a state of the release before. If that fails, say so."""
    try:
        await load(state)
    except TRANSIENT:
        raise
    except Exception as error:  # members and tools may be the user's code
        _log.warning("%s begins anew: it can't load its state (%s: %s)", what, type(error).__name__, error)
        return False
    return True


def _left_out(member: Member) -> dict[str, tuple[Save, Load]]:
    """How to save and load the parts of a member that keep a state of their own, by names that we give them."""
    if isinstance(member, SocietyOfMindAgent | CodeExecutorAgent):
        return {"context": (member.model_context.save_state, member.model_context.load_state)}
    if isinstance(member, MessageFilterAgent):
        filtered = private.filtered_agent(member)
        return {"filtered": (filtered.save_state, filtered.load_state)}
    found: dict[str, tuple[Save, Load]] = {}
    for number, bench in enumerate(private.workbenches(member) if isinstance(member, AssistantAgent) else []):
        found[f"workbench {number}"] = (partial(own_state, bench), bench.load_state)
        for tool in private.tools_in(bench):
            found[f"tool {tool.name}"] = (tool.save_state_json, tool.load_state_json)
    return found


def adopt_calls(team: Team, keepers: Iterable[Keeper]) -> None:
    """Let the members' functions know their job, and let the journal answer the members' models and tools."""
    watch_models()
    for path, member in _all(team):
        for name, client in private.model_clients(member):
            setattr(member, name, JournaledModel(_caller(path), client))
        if isinstance(member, AssistantAgent):
            for bench in private.workbenches(member):
                for tool in private.tools_in(bench):
                    private.change_function(tool, adopted)
                    adopt_errors(tool)
                adopt_bench(bench, private.task_runners(bench), private.tools_in(bench), keepers)
        elif isinstance(member, CodeExecutorAgent):
            adopt_code(member)
        elif isinstance(member, SelectorGroupChat):
            private.change_choices(member, partial(asked_once, _caller(path)))


def report_all_errors(team: Team, report: Report) -> None:
    """Report the errors of every member and every team's manager, by the names under which they ask models."""
    for path, member in _all(team):
        report_errors(_caller(path), member, report)


def _caller(path: Path) -> str:
    return "/".join(path)


def _children(member: Member) -> Sequence[Member]:
    if isinstance(member, SocietyOfMindAgent):
        return [private.inner_team(member)]
    if isinstance(member, MessageFilterAgent):
        return [private.filtered_agent(member)]
    if isinstance(member, AssistantAgent):
        return [runner for bench in private.workbenches(member) for runner in private.task_runners(bench).values()]
    return private.participants(member) if isinstance(member, Team) else []
