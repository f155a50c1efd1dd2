"""Parts: which part of an agent recorded a step or an effect. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..coordinator.commands import EFFECT, PART, STEP


def with_parts(records: Mapping[str, Any], part: Callable[[], str] | None) -> Mapping[str, Any]:
    """Journal records, and for each of a step or an effect one that says what `part` tells."""
    if part is None:
        return records
    return {**records, **{PART + key: part() for key in records if key.startswith((STEP, EFFECT))}}
