"""GroupInfo: how far a group of consumers has read."""

from __future__ import annotations

from dataclasses import dataclass

from .listed import Listed


@dataclass(frozen=True, kw_only=True)
class GroupInfo(Listed):
    """A group of consumers.

    `lag` is how many events no consumer has taken yet. `taken` is how many batches of events are being worked on, or
    were left by a consumer that died.
    """

    name: str
    lag: int
    taken: int
