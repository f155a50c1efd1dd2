"""For LangGraph programs: its checkpointer on every store of ours, with or without jobs."""

from batonpass.adapters.langgraph import BatonpassSaver

__all__ = ["BatonpassSaver"]
