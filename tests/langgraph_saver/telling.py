"""What of a graph's history is the same for each saver."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from langgraph.types import Interrupt


def told(history: list[Any], left_out: Collection[str] = ()) -> list[Any]:
    """A history without what differs from run to run, which are ids and times."""
    numbers = {_id(state.config): number for number, state in enumerate(reversed(history))}
    states = [
        {
            "place": [numbers[_id(state.config)], numbers.get(_id(state.parent_config))],
            "values": values(state.values),
            "next": state.next,
            # As JSON: their serializer makes lists of tuples.
            "metadata": json.dumps({**metadata, "parents": sorted(metadata.get("parents", {}))}, default=repr),
            "tasks": [
                (task.name, task.error, sorted(values(task.interrupts), key=repr), values(task.result), _within(task))
                for task in state.tasks
            ],
        }
        for state in history
        for metadata in [state.metadata or {}]
    ]
    return [{key: value for key, value in state.items() if key not in left_out} for state in states]


def _within(task: Any) -> Any:
    """The state of a task's subgraph, if it was asked for."""
    return told([task.state]) if hasattr(task.state, "values") and not isinstance(task.state, dict) else None


def _id(config: Any) -> str:
    return str((config or {}).get("configurable", {}).get("checkpoint_id"))


def values(held: Any) -> Any:
    """Values without the ids that messages and questions get, and with lists for tuples, as LangGraph's serializer
    has them."""
    if isinstance(held, dict):
        return {key: values(value) for key, value in held.items()}
    if isinstance(held, list | tuple):
        return [values(value) for value in held]
    if isinstance(held, Interrupt):
        return ["asks", values(held.value)]
    return (held.type, held.text) if hasattr(held, "response_metadata") else held


def difference(ours: Any, theirs: Any, where: str = "") -> str:
    """Where the first difference is, and what is there."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        pairs = [(f"{where}[{key!r}]", ours[key], theirs[key]) for key in ours]
    elif isinstance(ours, list | tuple) and isinstance(theirs, list | tuple) and len(ours) == len(theirs):
        pairs = [(f"{where}[{number}]", *each) for number, each in enumerate(zip(ours, theirs, strict=True))]
    else:
        return f"{where}: {ours!r}, not {theirs!r}"
    return next(difference(mine, other, at) for at, mine, other in pairs if mine != other)
