"""Sends: LangGraph's `Send` holds the state that a node gets, so that is copied, too."""

from __future__ import annotations

from typing import Any

from langgraph.types import Send

from ....contracts.builtin_types import class_of
from ...still import HOLDERS
from ...still import still as still_

_ALSO = HOLDERS | {Send}


def still(value: Any) -> Any:
    """`still` for a graph's value, which may be a `Send`, or hold some."""
    return still_(value, _ALSO) if class_of(value) in _ALSO else value
