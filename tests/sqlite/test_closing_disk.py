"""A store that another thread closes just while one commits: the commit is acknowledged all the same."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite import disk
from batonpass.coordinator.sqlite.store import SqliteStore
from batonpass.coordinator.urls import open_store
from tests.harness.bench import new_checkpoint

pytestmark = pytest.mark.skipif(not disk.SHARED, reason="SQLite waits by itself here")


class Closing:
    """Closes a store in another thread, as soon as `lets_in` is called: that goes on when the thread has come to the
    connection that writes (and has to wait there)."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._there = threading.Event()
        self.thread = threading.Thread(target=store.close)
        self._close: Callable[..., None] = store._writing.close

    def close(self, *first: Any) -> None:
        self._there.set()
        self._close(*first)

    def lets_in(self, do: Callable[..., Any], *, before: bool) -> Callable[..., Any]:
        """Lets it in before or after something is done for the first time."""

        def does(*given: Any) -> Any:
            result = None if before else do(*given)
            if self.thread.ident is None:
                self.thread.start()
                assert self._there.wait(30)
            return do(*given) if before else result

        return does


@pytest.mark.parametrize("where", ["the log was opened", "its size is asked"])
def test_a_commit(where: str, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(sqlite_url)
    assert isinstance(store, SqliteStore)
    store.open()
    closing = Closing(store)
    monkeypatch.setattr(store._writing, "close", closing.close)
    if where == "the log was opened":
        monkeypatch.setattr(disk.Disk, "_open", closing.lets_in(disk.Disk._open, before=False))
    else:
        monkeypatch.setattr(os, "lseek", closing.lets_in(os.lseek, before=True))
    new = new_checkpoint("x")
    store.call(c.Save("t", new))
    closing.thread.join(30)
    assert not closing.thread.is_alive()
    assert [each.id for each in store.call(c.Timeline("t", 10))] == [new.id]
    store.close()
