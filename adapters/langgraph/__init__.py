"""The LangGraph adapter: a checkpoint for each superstep, pending writes and subgraphs in the hop's journal."""

from __future__ import annotations

from .adapter import LangGraphAdapter

__all__ = ["LangGraphAdapter"]
