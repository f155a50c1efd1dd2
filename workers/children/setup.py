"""Setup: what a child process must know and import before it can run deliveries."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass

from ...adapters.adapter import Adapter
from ...contracts.app import App
from ...coordinator.connection import connect
from ...coordinator.urls import namespace_of
from ..adapters import load_adapter
from ..finding import find_app
from ..logs import log_lines
from .frames import Frame


@dataclass(frozen=True)
class Setup:
    """Which app, on which store. `kinds` are the kinds of its agents that run in children, `folder` is where the worker
    began."""

    app: str
    url: str
    namespace: str | None
    kinds: tuple[str, ...]
    folder: str
    as_json: bool = False

    def pack(self) -> Frame:
        """The frame to send to a new process."""
        return {"setup": asdict(self)}


@dataclass(frozen=True)
class Prepared:
    """A setup with everything imported for it."""

    setup: Setup
    app: App
    adapters: Mapping[str, Adapter]


def prepare(packed: Frame) -> Prepared:
    """Import the app and the frameworks, without opening anything. `BadSetup` or `MissingExtra` if that fails."""
    setup = Setup(**packed["setup"])
    with suppress(PermissionError):  # a worker may begin in a folder that it may not enter, and needs nothing there
        os.chdir(setup.folder)
    log_lines(setup.as_json, namespace_of(setup.url, setup.namespace))
    app = find_app(setup.app)
    adapters = {kind: load_adapter(kind) for kind in setup.kinds}
    connect(setup.url, namespace=setup.namespace, app=app)  # imports what the store needs, and opens nothing
    return Prepared(setup, app, adapters)
