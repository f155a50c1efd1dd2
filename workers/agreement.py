"""Agreement: what a worker checks in the store's record before it serves its agents."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

import anyio

from ..contracts.agent import Agent
from ..contracts.app import App
from ..contracts.contract import ContractRef, contract_ref
from ..contracts.errors import BadSetup, BatonpassError, UnknownAgent
from ..coordinator.book import Declaration, open_declaration, queue_of
from ..coordinator.calls import adrive
from ..coordinator.client import Coordinator
from ..coordinator.commands import Declared, Takers

_log = logging.getLogger("batonpass.worker")
# Seconds: how long to wait until a worker that has ended no longer counts as live (its presence expires, see
# upkeep.py), and between two looks.
_PATIENCE, _PAUSE = 6.0, 0.25


async def check_others(agents: Sequence[Agent[Any]], app: App, coordinator: Coordinator) -> list[str]:
    """Refuse agents that live workers serve with other contracts, because the workers would fail each other's jobs.
    Returns those of the app's other agents that they serve so: the record of these is theirs.

    Another version of a contract is another queue, as rolling deploys need. If the app can't read an older version, or
    may not read what waits with this one, log it.
    """
    theirs = list[str]()
    recorded = await coordinator.store.acall(Declared())
    for agent in app:
        try:
            other = open_declaration(recorded[agent.name]) if agent.name in recorded else None
        except BatonpassError:  # it can't be read, but ours is about to replace it
            continue
        if other is None:
            continue
        differs = _difference(agent, other)
        if agent not in agents:
            if differs and await _is_served(agent.name, other, coordinator):
                _log.warning("agent %r, not served here: a live worker of app %r %s", agent.name, other.app, differs)
                theirs.append(agent.name)
            continue
        _tell_older(agent, app, other.accepts)
        if differs and await _stays(agent.name, other, coordinator):
            what = f"agent {agent.name!r}: a live worker of app {other.app!r} {differs}"
            raise BadSetup(f"{what}, or stop that worker")
        _tell_changed(agent, other)
    return theirs


def _tell_older(agent: Agent[Any], app: App, before: ContractRef) -> None:
    now = contract_ref(agent.accepts)
    if before.name == now.name and before.version < now.version and before not in app.versions(agent.accepts):
        _log.warning(
            "agent %s accepted %s before: jobs that wait with it are left to workers of that version, unless this app "
            "can upcast them (@app.upcast(%s, from_version=%d))",
            *(agent.name, before, agent.accepts.__name__, before.version),
        )


def _tell_changed(agent: Agent[Any], before: Declaration) -> None:
    """Nobody else serves the agent now, but jobs may wait that the release before has left."""
    if (changed := before.contradicted(agent)) is None:
        return
    if before.differs(agent) == "contract":
        _log.warning("agent %s %s. Jobs that wait with that are left to workers that accept it", agent.name, changed)
        return
    _log.warning(
        "agent %s: %s and add an upcast (@app.upcast(%s, from_version=%d)). Jobs that wait with the old fields fail "
        "now, if they don't fit the new ones",
        *(agent.name, changed, agent.accepts.__name__, before.accepts.version),
    )


def _difference(agent: Agent[Any], other: Declaration) -> str | None:
    accepts, differs = contract_ref(agent.accepts), other.differs(agent)
    if differs == "contract":
        return f"accepts {other.accepts}, not {accepts}: rename one of them, give its app another namespace"
    return f"has other fields in {accepts}: give one of them a higher version=" if differs else None


async def _is_served(name: str, other: Declaration, coordinator: Coordinator) -> bool:
    """Whether a live worker serves the agent as recorded."""
    takers: int = await coordinator.store.acall(Takers(queue_of(name, other.accepts)))
    return takers > 0


async def _stays(name: str, other: Declaration, coordinator: Coordinator) -> bool:
    """Whether a live worker serves the agent as recorded, and still does after a wait in which one that has just ended
    would be forgotten."""
    until = time.monotonic() + _PATIENCE
    while await _is_served(name, other, coordinator):
        if time.monotonic() > until:
            return True
        await anyio.sleep(_PAUSE)
    return False


async def check_receivers(agents: Sequence[Agent[Any]], app: App, coordinator: Coordinator) -> None:
    """Check the agents of other apps that ours hand off to: refuse another contract, and log a missing agent."""
    outside = [(agent, to) for agent in agents for to in agent.hands_to if to not in app]
    for agent, to in outside:
        given = contract_ref(agent.hands_to[to])
        try:
            accepts = (await adrive(coordinator.store, coordinator.book.declaration(to))).accepts
        except UnknownAgent:
            _log.warning(
                "agent %s hands off to %s, which no app has declared yet: until a worker that serves %s has started, "
                "jobs handed to it fail (unknown_agent) and have to be redriven",
                *(agent.name, to, to),
            )
            continue
        if accepts.name != given.name:
            raise BadSetup(f"agent {agent.name!r} hands {given} to {to!r}, which accepts {accepts}")
