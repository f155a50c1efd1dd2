"""Namespaces: how LangGraph names where a subgraph's checkpoints are. Without importing LangGraph."""

from __future__ import annotations


def lasts(namespace: str) -> bool:
    """Whether a subgraph goes on in this namespace in later runs, too: it was compiled with `checkpointer=True`. The
    namespace of any other has a task's id in it."""
    return namespace != "" and ":" not in namespace
