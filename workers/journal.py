"""Journal: a hop's records, as stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..coordinator.blobs import seal_blob
from ..coordinator.commands import DOUBT, SETTLED


def named(journal: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The records whose keys begin so, by the rest of their keys. (Of a copy: other threads of the agent may add some
    meanwhile.)"""
    return {key.removeprefix(prefix): value for key, value in dict(journal).items() if key.startswith(prefix)}


def packed(records: Mapping[str, Any]) -> dict[str, bytes]:
    """Journal records as stored. What is not in doubt, or not settled, any more is deleted."""
    gone = {key for key, value in records.items() if value is None and key.startswith((DOUBT, SETTLED))}
    return {key: b"" if key in gone else seal_blob(value, path=f"record {key!r}") for key, value in records.items()}
