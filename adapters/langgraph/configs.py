"""Configs: how LangGraph names threads, namespaces and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from ...contracts.errors import BadSetup
from ...coordinator.calls.inputs import text

_FORM = 'a config like {"configurable": {"thread_id": "any name"}}'


def config_of(thread: str, namespace: str, checkpoint: str, **more: object) -> RunnableConfig:
    """The config that names a checkpoint."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint, **more}}


def names_of(config: object) -> Mapping[str, Any]:
    """The names of thread, namespace and checkpoint in a config. `BadSetup` if it is not a config."""
    # Nearly all configs are dicts, and to ask an abstract class takes longer than all the rest.
    is_config = type(config) is dict or isinstance(config, Mapping)
    names: object = cast("Mapping[str, Any]", config).get("configurable", {}) if is_config else None
    if type(names) is not dict and not isinstance(names, Mapping):
        raise BadSetup(f"what was given as a config does not name a thread: give {_FORM}")
    return cast("Mapping[str, Any]", names)


def thread_of(thread_id: object) -> str:
    """A thread's name. `BadSetup` if there is none."""
    name = "" if thread_id is None else str(thread_id)
    if not name:
        raise BadSetup(f"a checkpointer needs a thread: give the graph {_FORM}")
    return text(name, "thread_id")
