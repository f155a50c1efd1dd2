"""Part: one of the things that a job streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Part:
    """What an agent streamed with one value of `ctx.emit`. `cursor` is the opaque position after it: pass it as
    `after=` to continue from here."""

    data: Any
    cursor: str
