"""Parts: which part of an agent recorded a step or an effect. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..coordinator.commands import EFFECT, PART, STEP
from ..coordinator.session import Parts


def with_parts(records: Mapping[str, Any], parts: Parts | None, given: str) -> Mapping[str, Any]:
    """Journal records, and for each of a step or an effect one that says whose it is: the part that runs here, or which
    gave its context to the code that runs here, or any of those that run."""
    if parts is None:
        return records
    part = parts.here() or given or parts.likely()
    return {**records, **{PART + key: part for key in records if key.startswith((STEP, EFFECT))}}
