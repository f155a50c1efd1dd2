"""The LangGraph adapter: checkpoints of supersteps, under a job (LangGraphAdapter) or without (BatonpassSaver),
and memory beyond threads (BatonpassStore)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .adapter import LangGraphAdapter

if TYPE_CHECKING:
    from .saver.saver import BatonpassSaver
    from .store.store import BatonpassStore

__all__ = ["BatonpassSaver", "BatonpassStore", "LangGraphAdapter"]


def __getattr__(name: str) -> Any:
    if name == "BatonpassSaver":  # LangGraph is imported only when it is asked for
        from .saver.saver import BatonpassSaver

        return BatonpassSaver
    if name == "BatonpassStore":
        from .store.store import BatonpassStore

        return BatonpassStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
