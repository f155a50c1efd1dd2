"""The workers command."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from typing import cast

from batonpass.coordinator.book import open_declaration
from batonpass.coordinator.checkup import Examines
from batonpass.coordinator.commands import Declared
from batonpass.coordinator.urls import open_store

from .live import live_workers, queues_of, takers
from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened
from .printing import print_json, print_table


def workers(store: Store = DEFAULT_STORE, namespace: Namespace = DEFAULT_NAMESPACE, as_json: Json = False) -> None:
    """List live workers, their agents and versions. A killed worker is still listed for 5 s."""
    with opened(store, namespace) as coordinator, closing(open_store(store, namespace)) as looked_at:
        declared = {name: open_declaration(kept) for name, kept in coordinator.store.call(Declared()).items()}
        queues = queues_of(takers(declared))
        counting = cast("Examines", looked_at)
        counting.examine()
        load = counting.count([queue for names in queues.values() for queue in names])
    found = live_workers(load, queues)
    if as_json:
        print_json([asdict(worker) for worker in found])
        return
    print_table(
        ("WORKER", "APP", "VERSION", "BATONPASS", "SERVES"),
        [(each.id, each.app, each.version or "-", each.batonpass, ", ".join(each.agents)) for each in found],
    )
