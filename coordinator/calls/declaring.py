"""Declaring: the calls that record an app's agents."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ...contracts.agent import Agent
from ...contracts.app import App
from ...contracts.bounds import Rate
from ...contracts.contract import contract_ref
from ...contracts.declared import AgentInfo
from ...contracts.errors import BadSetup, BatonpassError
from ..book import Declaration, Numbers, close_declaration, numbers_of, open_declaration, queue_of, readable
from ..commands import Declare, Declared, Reap, Reaped, Takers
from ..other_versions import with_version
from . import Call
from .pauses import pauses

# How many lines to look at in one step, and in how many steps. (With limit_by=, an agent has a line for each value.)
_LINES, _STEPS = 500, 200
# After how many looks in which nobody read a newer version it counts as taken back: workers look every 15 s.
_UNREAD = 4


def declaring(app: App, *, but: Collection[str] = ()) -> Call[None]:
    """Record an app's agents, `but` not those. If an agent's limits have changed, its lines are looked at again.

    In a rolling deploy, a worker of the older release may start once more. What is recorded of a newer version of an
    agent's contract stays as long as live workers read that, and this one's is known beside it.
    """
    given: Any = app  # users without a type checker give anything
    if not isinstance(given, App):
        raise BadSetup(f"{given!r} is not a batonpass.App, whose agents declare() records")
    app.check()
    before: dict[str, Declaration | None] = {}
    left = [agent.name for agent in app if agent.name not in but]
    while left:  # again, if another release of the app was declared meanwhile: each takes along what the other said
        known: dict[str, bytes] = yield Declared()
        before |= {name: _recorded(known[name]) for name in left if name in known}
        told = dict[str, bytes]()
        for name in left:
            newer = yield from _newer_is_read(app[name], before.get(name))
            told[name] = with_version(known[name], app[name]) if newer else _closed(app, name, before)
        left = yield Declare(told, known)
    if any(agent.name in before and _limits(before[agent.name]) != numbers_of(agent) for agent in app):
        yield from _looking_again()


def _closed(app: App, name: str, before: Mapping[str, Declaration | None]) -> bytes:
    return close_declaration(app[name], app, before.get(name))


def _newer_is_read(agent: Agent[Any], recorded: Declaration | None) -> Call[bool]:
    """Whether what is recorded is of a newer version of the agent's contract, which live workers read."""
    if recorded is None or _newer(recorded, agent) <= 0:
        return False
    takers: int = yield Takers(queue_of(agent.name, recorded.accepts))
    return takers > 0


def _newer(recorded: Declaration, agent: Agent[Any]) -> int:
    """How much newer the recorded version of the agent's contract is. 0 if it is another contract."""
    name, version = contract_ref(agent.accepts)
    return recorded.accepts.version - version if recorded.accepts.name == name else 0


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


def recalling(app: App, served: dict[str, int] | None = None) -> Call[list[str]]:
    """Record those of these agents again that the store has lost. Returns their names. Newer records of others stay.

    Those that a live worker has `served` are also recorded if what is known of them is an older version of their
    contract (a worker of a release before this rule has started), or a newer one that nobody reads any more (that
    release was taken back). But that may be declared before its workers start, or these start anew: so the caller keeps
    for each agent in how many looks on end nobody read it.
    """
    known: dict[str, bytes] = yield Declared()
    lost = sorted(agent.name for agent in app if agent.name not in known)
    served = {} if served is None else served
    before = {name: found for name in served if name in known and (found := _recorded(known[name]))}
    wrong = list[str]()
    for name, found in before.items():
        newer = _newer(found, app[name])
        unread = newer > 0 and not (yield from _newer_is_read(app[name], found))
        served[name] = served[name] + 1 if unread else 0
        if newer < 0 or served[name] >= _UNREAD:
            wrong.append(name)
    if told := {name: _closed(app, name, before) for name in (*lost, *wrong)}:
        yield Declare(told, known)
    if any(_limits(before[name]) != numbers_of(app[name]) for name in wrong):
        yield from _looking_again()
    return lost


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
