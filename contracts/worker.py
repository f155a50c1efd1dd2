"""WorkerInfo: a live worker."""

from __future__ import annotations

from dataclasses import dataclass

from .listed import Listed


@dataclass(frozen=True, kw_only=True)
class WorkerInfo(Listed):
    """A live worker.

    `id` is its name in logs, events and leases, `batonpass` its version of Batonpass. `app` is its app's name and
    `version` that app's version ("" if it has none). `agents` are the agents that it serves, by name,
    and `paused` those of them that are paused.
    """

    id: str
    batonpass: str
    app: str
    version: str
    agents: tuple[str, ...]
    paused: tuple[str, ...] = ()
