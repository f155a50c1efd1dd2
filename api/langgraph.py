"""For LangGraph programs: its checkpointer and its long-term memory on every store of ours, with or without jobs."""

from batonpass.adapters.langgraph.checkpointer import BatonpassSaver
from batonpass.adapters.langgraph.memory import BatonpassStore

__all__ = ["BatonpassSaver", "BatonpassStore"]
