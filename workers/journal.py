"""Journal: a hop's records, as stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..coordinator.blobs import seal_blob
from ..coordinator.commands import DOUBT


def packed(records: Mapping[str, Any]) -> dict[str, bytes]:
    """Journal records as stored. What is not in doubt any more is deleted."""
    gone = {key for key, value in records.items() if value is None and key.startswith(DOUBT)}
    return {key: b"" if key in gone else seal_blob(value, path=f"record {key!r}") for key, value in records.items()}
