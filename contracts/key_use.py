"""KeyUse: what in a store needs a key of its codec."""

from __future__ import annotations

from dataclasses import dataclass

from .listed import Listed


@dataclass(frozen=True, kw_only=True)
class KeyUse(Listed):
    """What was stored with a key, and can't be read without it. `key` is the key's name, "" for what has no key.

    `protection` is "encrypted", "signed" or "plain". `known` tells whether this process has the key, and `writes`
    whether it stores new data with it. The rest names what needs it: jobs and threads, memory items (labels, then the
    key), schedules and webhooks; and counts the events whose error does.
    """

    key: str
    protection: str
    known: bool
    writes: bool
    jobs: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    items: tuple[tuple[str, ...], ...] = ()
    schedules: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    events: int = 0
