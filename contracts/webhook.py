"""WebhookInfo: an address that events are sent to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class WebhookInfo:
    """A webhook. `state` is active, paused, or unreadable (damaged, or kept with a key that is not here); `failures` is
    how often the event that is next has failed, `error` how it did last. `lag` is how many events were not looked at
    yet: they wait while it is not active."""

    name: str
    url: str
    types: tuple[str, ...]
    state: str
    failures: int
    error: str
    lag: int
