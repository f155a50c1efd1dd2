"""The check command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from batonpass.contracts.app import App
from batonpass.contracts.errors import BatonpassError
from batonpass.coordinator.book import readable
from batonpass.coordinator.checkup import Finding
from batonpass.coordinator.commands import Declared
from batonpass.coordinator.sync_client import SyncCoordinator
from batonpass.workers.adapters import load_adapter
from batonpass.workers.finding import find_app

from .findings import tell
from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened
from .release import against_agents, against_jobs, against_schedules


def check(
    app: Annotated[str, typer.Argument(metavar="MODULE:APP", help="Where the app is, e.g. desk:app")],
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Check, before a deploy, whether an app can continue what is in the store. Changes nothing.

    It reads the payload of each unended job and of each schedule, and the states of the newest jobs, as the app's
    workers would once no older worker is left. For jobs in the middle of a graph it builds that, too.

    Exit codes: 0 all is well or only warnings, 1 something would not work, 2 bad input.
    """
    found = find_app(app)
    found.check()
    with opened(store, namespace) as coordinator:
        tell(_look(found, coordinator), as_json=as_json)


def _look(app: App, coordinator: SyncCoordinator) -> Iterator[Finding]:
    yield from _kinds(app)
    declared = readable(coordinator.store.call(Declared()))
    yield from against_agents(app, declared, coordinator.workers())
    yield from against_jobs(app, declared, coordinator)
    yield from against_schedules(app, declared, coordinator)


def _kinds(app: App) -> Iterator[Finding]:
    for kind in sorted({agent.kind for agent in app}):
        try:
            load_adapter(kind)
        except BatonpassError as error:
            yield Finding("fail", "installed", str(error))
