"""Schedules in tests that nobody looked at for long."""

from __future__ import annotations

import time

import batonpass as bp
from batonpass.coordinator.book import Book
from batonpass.coordinator.calls import drive, schedules
from batonpass.coordinator.sqlite.store import SqliteStore


def scheduled_before(url: str, app: bp.App, name: str, agent: str, seconds: float, cron: str = "* * * * *") -> None:
    """Make a schedule in a SQLite store, as if it had been made so long ago, and no worker had been there since."""
    made = time.time_ns() // 1_000_000 - int(seconds * 1000)
    store = SqliteStore(url.removeprefix("sqlite:///"), "default", clock=lambda: made)
    store.open()
    options = schedules.options(None, "reject", "normal", None, None, bp.Guard())
    drive(store, schedules.put(Book(app), name, agent, {}, cron, "UTC", "latest", options))
    store.close()
