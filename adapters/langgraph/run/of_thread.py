"""Of a thread: what a graph begins with if its job goes on from a thread that LangGraph ran without a job."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any, get_type_hints

from langgraph.graph.state import CompiledStateGraph
from pydantic import TypeAdapter

from ....contracts.agent import Agent
from ....coordinator.session import Session
from ..serde.allowlist import is_a
from ..serde.plain import readable

_log = logging.getLogger("batonpass.langgraph")


def of_thread(agent: Agent[Any], graph: Any, keys: Collection[str], session: Session) -> dict[str, Any]:
    """The thread's values, besides its conversation, for the `keys` that the graph takes. What an agent of a job has
    in its state stays with it: what it hands over is its contract."""
    earlier = session.inherited
    if earlier is None or earlier.framework != "langgraph" or earlier.agent or session.remembered is not None:
        return {}
    if left := sorted(earlier.variables.keys() - keys):
        _log.warning("job %s: the graph of agent %r takes no %s from the thread", session.job_id, agent.name, left)
    hints = _hints(graph)
    return {name: _typed(value, hints.get(name)) for name, value in earlier.variables.items() if name in keys}


def _hints(graph: Any) -> dict[str, Any]:
    if not is_a(graph, CompiledStateGraph):
        return {}
    try:
        return get_type_hints(graph.builder.input_schema, include_extras=True)
    except Exception:  # annotations may be anything, and LangGraph did without these
        return {}


def _typed(value: Any, hint: Any) -> Any:
    """The value as the graph's state declares it: objects came as their fields. As it is if it isn't one's fields."""
    if hint is None:
        return value
    try:
        made = TypeAdapter[Any](hint).validate_python(value)
        return made if readable(made) == value else value
    except Exception:  # a hint may be anything, and validators are the user's code
        return value
