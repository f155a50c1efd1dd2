"""The LangGraph adapter: checkpoints of supersteps, under a job (LangGraphAdapter) or without (BatonpassSaver)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .adapter import LangGraphAdapter

if TYPE_CHECKING:
    from .checkpointer import BatonpassSaver

__all__ = ["BatonpassSaver", "LangGraphAdapter"]


def __getattr__(name: str) -> Any:
    if name == "BatonpassSaver":  # LangGraph is imported only when it is asked for
        from .checkpointer import BatonpassSaver

        return BatonpassSaver
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
