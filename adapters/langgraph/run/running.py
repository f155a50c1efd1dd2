"""Running: which of a graph's tasks runs the code that asks."""

from __future__ import annotations

from langgraph.config import get_config


def running_task() -> str:
    """The id of the task of the job's graph, also for code of a subgraph in it. Empty outside of tasks."""
    try:
        config = get_config()
    except RuntimeError:
        return ""
    place: str = config.get("configurable", {}).get("checkpoint_ns", "")
    return place.partition("|")[0].rpartition(":")[2]
