"""Subgraph visits: tells LangGraph when a part that keeps its state is entered again."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from ..internals import CHECKPOINT_MAP, RESUMING


def enter(config: RunnableConfig, found: CheckpointTuple) -> None:
    """If this is a new visit to a part, say so in the config with which its loop asks for its checkpoint.

    When a graph is resumed, LangGraph resumes each part that runs first. A part that was visited in an earlier
    superstep has nothing to resume: none of its nodes would run, and its old result would be taken for the new one.
    """
    names = config.get("configurable", {})
    if names.get(RESUMING) and found.metadata.get("parents") != names.get(CHECKPOINT_MAP):
        names[RESUMING] = False
