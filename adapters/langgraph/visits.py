"""Visits: a part that keeps its state is entered again."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from .internals import AROUND, GOES_ON


def enter(config: RunnableConfig, found: CheckpointTuple) -> None:
    """Say in the config with which a part's loop asks for its checkpoint that this is a new visit, if it is.

    In a graph that is resumed LangGraph resumes each part that runs first. One that was visited in an earlier superstep
    has nothing to go on with: nothing of it would run, and its old result would be taken for the new one.
    """
    names = config.get("configurable", {})
    if names.get(GOES_ON) and found.metadata.get("parents") != names.get(AROUND):
        names[GOES_ON] = False
