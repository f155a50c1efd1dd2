"""The agents command."""

from __future__ import annotations

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened
from .printing import print_json, print_table


def agents(store: Store = DEFAULT_STORE, namespace: Namespace = DEFAULT_NAMESPACE, as_json: Json = False) -> None:
    """List declared agents and what they accept. With --json also the JSON Schema of the payload, and limits."""
    with opened(store, namespace) as coordinator:
        found = coordinator.agents()
    if as_json:
        print_json([agent.as_dict() for agent in found])
        return
    print_table(
        ("AGENT", "ACCEPTS", "ALSO READS", "APP", "KIND"),
        [(each.name, each.accepts, ", ".join(map(str, each.reads)) or "-", each.app, each.kind) for each in found],
    )
