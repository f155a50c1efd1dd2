"""KeyUse: what in a store needs a key of its codec."""

from __future__ import annotations

from dataclasses import dataclass

from .listed import Listed


@dataclass(frozen=True, kw_only=True)
class KeyUse(Listed):
    """What was stored with a key, and can't be read without it. `key` is the key's name, "" for what has no key.

    `protection` is "encrypted", "signed" or "plain". `known` tells whether this process has the key, and `writes`
    whether it stores new data with it. `other` means that it has another key of that name, which opens none of this.
    (What was stored before keys had marks counts as its own.) The rest names what needs the key: jobs and threads,
    memory items (labels, then the key), schedules and webhooks; and counts the events whose error does.
    """

    key: str
    protection: str
    known: bool
    writes: bool
    other: bool = False
    jobs: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    items: tuple[tuple[str, ...], ...] = ()
    schedules: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    events: int = 0
