"""Commands that pause an agent: pause, resume."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, AgentName, Json, Namespace, Store, opened
from .printing import print_json, say


def pause(
    agent: AgentName,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why, for those who see its jobs wait")] = "",
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Let no worker start jobs of an agent, until `resume`. Jobs that run go on, all others wait."""
    with opened(store, namespace) as coordinator:
        changed = coordinator.pause_agent(agent, reason=reason)
    _tell(agent, True, changed, f"paused {agent}" if changed else f"{agent} was paused already", as_json)


def resume(
    agent: AgentName,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Let workers start a paused agent's jobs again."""
    with opened(store, namespace) as coordinator:
        changed = coordinator.resume_agent(agent)
    _tell(agent, False, changed, f"{agent} goes on" if changed else f"{agent} was not paused", as_json)


def _tell(agent: str, paused: bool, changed: bool, line: str, as_json: bool) -> None:
    print_json({"agent": agent, "paused": paused, "changed": changed}) if as_json else say(line)
