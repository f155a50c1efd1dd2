"""The doctor command."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import chain
from typing import cast

from batonpass.contracts.errors import BadSetup, BatonpassError
from batonpass.coordinator.checkup import Examines, Finding
from batonpass.coordinator.safety import UnsafeStore
from batonpass.coordinator.urls import namespace_of, open_store

from .checkup import look_around
from .findings import tell
from .installed import look_installed
from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened


def doctor(store: Store = DEFAULT_STORE, namespace: Namespace = DEFAULT_NAMESPACE, as_json: Json = False) -> None:
    """Check the store, workers, jobs and installed packages. Changes nothing.

    Exit codes: 0 all is well or only warnings, 1 something does not work, 2 bad input.
    """
    if store.startswith("memory:"):
        raise BadSetup("memory:// exists only in its own process: there is nothing to check")
    tell(chain(look_installed(), _look(store, namespace)), as_json=as_json)


def _look(url: str, namespace: str | None) -> Iterator[Finding]:
    store = open_store(url, namespace)
    looked_at = cast("Examines", store)
    try:
        examined = looked_at.examine()
        if examined.opens or all(finding.level != "fail" for finding in examined.findings):
            yield Finding("ok", "store", f"{store.url}, namespace {namespace_of(url, namespace)}")
        yield from examined.findings
        if examined.opens:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnsafeStore)  # they are among the findings
                with opened(url, namespace) as coordinator:
                    yield from look_around(looked_at, coordinator)
    except BatonpassError as error:
        yield Finding("fail", "store", str(error))
    finally:
        store.close()
