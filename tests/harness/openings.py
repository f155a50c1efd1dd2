"""How often a connection opens its store in async code."""

from __future__ import annotations

import pytest

import batonpass as bp


def openings(connection: bp.Connection, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From here on, one item for each."""
    opened: list[str] = []
    opens = connection._store.aopen

    async def aopen() -> None:
        opened.append("open")
        await opens()

    monkeypatch.setattr(connection._store, "aopen", aopen)
    return opened
