"""The workers command."""

from __future__ import annotations

from batonpass.contracts.worker import WorkerInfo

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
        [(each.id, each.app, each.version or "-", each.batonpass, _serves(each)) for each in found],
    )


def _serves(worker: WorkerInfo) -> str:
    return ", ".join(f"{agent} (paused)" if agent in worker.paused else agent for agent in worker.agents)
