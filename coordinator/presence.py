"""Presence: what a live worker tells about itself. Stores record it as the worker's name."""

from __future__ import annotations

import json
from typing import NamedTuple

from ..contracts.understood import understood


class Present(NamedTuple):
    """A live worker: its id, its version of Batonpass, its app, and the app's version ("" if it has none)."""

    id: str
    batonpass: str
    app: str
    version: str


def close_present(worker: Present) -> str:
    """A worker's presence as recorded."""
    return json.dumps(worker)


@understood("the store's record of a live worker")
def open_present(text: str) -> Present:
    """A recorded presence."""
    told: list[object] = json.loads(text)
    return Present(*map(str, told))
