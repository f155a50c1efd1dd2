"""WebhookInfo: a URL that events are sent to."""

from __future__ import annotations

from dataclasses import dataclass

from .listed import Listed


@dataclass(frozen=True, kw_only=True)
class WebhookInfo(Listed):
    """A webhook.

    `state` is active, paused, or unreadable (damaged, or encrypted with a key that is not here). `failures` is how
    often sending the next event has failed, and `error` is the last failure. `lag` is how many events wait: those that
    it has not looked at yet, and those that were taken to be sent and are not accepted yet. The `url` is shown without
    a password, and with no options' values.
    """

    name: str
    url: str
    types: tuple[str, ...]
    state: str
    failures: int
    error: str
    lag: int
