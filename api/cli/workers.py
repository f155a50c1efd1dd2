"""The workers command."""

from __future__ import annotations

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened
from .printing import print_json, print_table


def workers(store: Store = DEFAULT_STORE, namespace: Namespace = DEFAULT_NAMESPACE, as_json: Json = False) -> None:
    """List live workers, their agents and versions. A killed worker is still listed for 5 s."""
    with opened(store, namespace) as coordinator:
        found = coordinator.workers()
    if as_json:
        print_json([worker.as_dict() for worker in found])
        return
    print_table(
        ("WORKER", "APP", "VERSION", "BATONPASS", "SERVES"),
        [(each.id, each.app, each.version or "-", each.batonpass, ", ".join(each.agents)) for each in found],
    )
