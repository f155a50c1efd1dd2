"""The agents command, and what others say about agents."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from batonpass.contracts.declared import AgentInfo
from batonpass.coordinator.sync_client import SyncCoordinator

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened
from .printing import cell, print_json, print_table, say


def agents(store: Store = DEFAULT_STORE, namespace: Namespace = DEFAULT_NAMESPACE, as_json: Json = False) -> None:
    """List declared agents: what they accept and return. With --json also the JSON Schemas, handoffs and limits."""
    with opened(store, namespace) as coordinator:
        found = coordinator.agents()
    if as_json:
        print_json([agent.as_dict() for agent in found])
        return
    print_table(
        ("AGENT", "ACCEPTS", "ALSO READS", "RETURNS", "APP", "KIND", "PAUSED"),
        map(_row, found),
    )


def _row(about: AgentInfo) -> tuple[Any, ...]:
    pause = about.paused
    paused = f"since {cell(pause.since)}{pause.reason and ': '}{pause.reason}" if pause else None
    reads = ", ".join(map(str, about.reads)) or "-"
    return about.name, about.accepts, reads, about.returns, about.app, about.kind, paused


def tell_undeclared(coordinator: SyncCoordinator, agent: str | None, found: Sized) -> bool:
    """If nothing was found for an agent, say so if there is no such agent, and return True. (It is no error in a list:
    a worker may come.)"""
    if agent is None or found:
        return False
    declared = [each.name for each in coordinator.agents()]
    if agent in declared:
        return False
    known = f"those declared are {', '.join(declared)}" if declared else "none is declared here"
    say(f"batonpass: there is no agent {agent!r}: {known}", err=True)
    return True
