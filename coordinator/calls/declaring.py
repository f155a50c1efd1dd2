"""Declaring: the calls that record an app's agents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...contracts.app import App
from ...contracts.bounds import Rate
from ...contracts.declared import AgentInfo
from ...contracts.errors import BadSetup, BatonpassError
from ..book import Declaration, Numbers, close_declaration, numbers_of, open_declaration, readable
from ..commands import Declare, Declared, Reap, Reaped
from . import Call
from .pauses import pauses

# How many lines to look at in one step, and in how many steps. (With limit_by=, an agent has a line for each value.)
_LINES, _STEPS = 500, 200


def declaring(app: App) -> Call[None]:
    """Record an app's agents. If an agent's limits have changed, its lines are looked at again."""
    given: Any = app  # users without a type checker give anything
    if not isinstance(given, App):
        raise BadSetup(f"{given!r} is not a batonpass.App, whose agents declare() records")
    app.check()
    before: dict[str, Declaration | None] = {}
    left = [agent.name for agent in app]
    while left:  # again, if another release of the app was declared meanwhile: each takes along what the other said
        known: dict[str, bytes] = yield Declared()
        before |= {name: _recorded(known[name]) for name in left if name in known}
        left = yield Declare({name: close_declaration(app[name], app, before.get(name)) for name in left}, known)
    if any(agent.name in before and _limits(before[agent.name]) != numbers_of(agent) for agent in app):
        yield from _looking_again()


def leaving(app: App) -> Call[None]:
    """A worker of the app has stopped. If others have declared its agents with other limits, it has made jobs wait by
    numbers that nobody goes by any more, so lines are looked at again."""
    limited = [agent for agent in app if agent.bounds.limited]
    known: dict[str, bytes] = (yield Declared()) if limited else {}
    if any(agent.name in known and _limits(_recorded(known[agent.name])) != numbers_of(agent) for agent in limited):
        yield from _looking_again()


def _looking_again() -> Call[None]:
    for _ in range(_STEPS):
        reaped: Reaped = yield Reap(_LINES, early=True, leases=False)
        if reaped.moved < _LINES:
            return


def recalling(app: App) -> Call[list[str]]:
    """Record those of these agents again that the store has lost. Returns their names. Newer records of others stay."""
    known: dict[str, bytes] = yield Declared()
    lost = {agent.name: close_declaration(agent, app) for agent in app if agent.name not in known}
    if lost:
        yield Declare(lost, known)
    return sorted(lost)


def known() -> Call[list[AgentInfo]]:
    """The declared agents, by name. Those whose record can't be read here are left out."""
    recorded: dict[str, bytes] = yield Declared()
    paused = yield from pauses()
    found = [_info(name, declaration) for name, declaration in sorted(readable(recorded).items())]
    return [replace(info, paused=paused.get(info.name)) for info in found]


def _info(name: str, declaration: Declaration) -> AgentInfo:
    numbers, bounds = declaration.numbers, declaration.bounds
    return AgentInfo(
        name=name,
        app=declaration.app,
        kind=declaration.kind,
        accepts=declaration.accepts,
        schema=declaration.schema,
        reads=tuple(sorted((ref for ref, other in declaration.others.items() if other.read), reverse=True)),
        returns=declaration.returns,
        result_schema=declaration.result,
        hands_to=declaration.hands_to,
        concurrency=numbers.concurrency or None,
        rate=Rate(numbers.starts, per=numbers.per / 1000) if numbers.starts else None,
        limit_by=bounds.limit_by,
        max_waiting=bounds.max_waiting,
        max_payload=bounds.max_payload,
    )


def _limits(recorded: Declaration | None) -> Numbers | None:
    return recorded.numbers if recorded else None


def _recorded(declaration: bytes) -> Declaration | None:
    try:
        return open_declaration(declaration)
    except BatonpassError:  # unreadable, so it gets replaced
        return None
