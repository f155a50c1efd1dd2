"""Places: what keepers keep checkpoints in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ...contracts.app import App
from ...contracts.checkpoint import Checkpoint, CheckpointSummary
from ...coordinator.book import Book
from ...coordinator.calls import Call, adrive, drive
from ...coordinator.client import Coordinator
from ...coordinator.commands import Threads, Timeline
from ...coordinator.rows import CheckpointRow
from ...coordinator.snapshots import listed
from ...coordinator.store import Store
from ...coordinator.sync_client import SyncCoordinator

FRAMEWORK = "plain"
_PAGE = 500


class Place(Protocol):
    """The part of a coordinator that keepers need."""

    def save(
        self, *, thread: str, agent: str, state: Any, step: str, context: Mapping[str, Any] | None, framework: str
    ) -> Checkpoint: ...

    def restore(self, checkpoint_id: str) -> Checkpoint: ...

    def latest(self, *, thread: str) -> Checkpoint | None: ...

    def timeline(self, thread: str, *, limit: int) -> list[CheckpointSummary]: ...

    def keys(self) -> list[str]: ...


class AsyncPlace(Protocol):
    """The same for async code."""

    async def save(
        self, *, thread: str, agent: str, state: Any, step: str, context: Mapping[str, Any] | None, framework: str
    ) -> Checkpoint: ...

    async def restore(self, checkpoint_id: str) -> Checkpoint: ...

    async def latest(self, *, thread: str) -> Checkpoint | None: ...

    async def timeline(self, thread: str, *, limit: int) -> list[CheckpointSummary]: ...

    async def keys(self) -> list[str]: ...


class StorePlace(SyncCoordinator):
    """A store. It knows no app, because an agent that happens to have a class's name must not concern its states."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, Book(App("plain classes")))

    def keys(self) -> list[str]:
        """The threads that a keeper saved to."""
        return drive(self.store, _keys())


class AsyncStorePlace(Coordinator):
    """The same for async code."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, Book(App("plain classes")))

    async def keys(self) -> list[str]:
        """The threads that a keeper saved to."""
        return await adrive(self.store, _keys())


def _keys() -> Call[list[str]]:
    keys: list[str] = []
    after = ""
    while True:
        page: list[str] = yield Threads(_PAGE, after)
        for thread in page:
            rows: list[CheckpointRow] = yield Timeline(thread, 1)
            if rows and listed(rows[0]).framework in (FRAMEWORK, ""):  # "": damaged; it must not hide the key
                keys.append(thread)
        if len(page) < _PAGE:
            return keys
        after = page[-1]
