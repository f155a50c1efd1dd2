"""Pause: why, and since when, no job of an agent is started."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .listed import Listed


@dataclass(frozen=True, kw_only=True)
class Pause(Listed):
    """The pause of an agent: since when, by the store's clock, and the reason that was given ("" for none)."""

    reason: str
    since: datetime
