"""Presence: what a live worker tells about itself. Stores record it as the worker's name."""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from typing import NamedTuple

from ..contracts.understood import understood


class Present(NamedTuple):
    """A live worker: its id, its version of Batonpass, its app, and the app's version ("" if it has none)."""

    id: str
    batonpass: str
    app: str
    version: str


def new_worker() -> str:
    """The id of a worker that begins now, in this process. The time is in it, in ms, before four random digits."""
    return f"{socket.gethostname()}-{os.getpid()}-{time.time_ns() // 1_000_000:x}{secrets.token_hex(2)}"


def began(worker: str) -> int:
    """When a worker began by its host's clock, in ms, according to its id. 0 if that does not tell."""
    try:
        return int(worker.rpartition("-")[2][:-4], 16)
    except ValueError:
        return 0


def close_present(worker: Present) -> str:
    """A worker's presence as recorded."""
    return json.dumps(worker)


@understood("the store's record of a live worker")
def open_present(text: str) -> Present:
    """A recorded presence."""
    told: list[object] = json.loads(text)
    return Present(*map(str, told))
