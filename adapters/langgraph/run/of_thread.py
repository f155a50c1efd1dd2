"""Of a thread: what a graph begins with if its job goes on from a thread that LangGraph ran without a job."""

from __future__ import annotations

import logging
from collections.abc import Set
from contextlib import suppress
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from ....contracts.agent import Agent
from ....contracts.errors import Unserializable
from ....coordinator.session import Session
from ..serde.allowlist import is_a
from ..serde.hints import hints_of, is_model
from ..serde.values import Values
from .declared import Another, as_declared

_log = logging.getLogger("batonpass.langgraph")


def of_thread(agent: Agent[Any], graph: Any, keys: Set[str], session: Session, values: Values) -> dict[str, Any]:
    """The thread's values, besides its conversation, for the `keys` that the graph takes. What an agent of a job has
    in its state stays with it: what it hands over is its contract."""
    earlier = session.inherited
    if earlier is None or earlier.framework != "langgraph" or earlier.agent or session.remembered is not None:
        return {}
    schema = graph.builder.input_schema if is_a(graph, CompiledStateGraph) else None
    hints = hints_of(schema, Any)  # what stands for a type variable that nobody has bound comes as it is
    # What the job is to return must be new.
    wanted = keys - (agent.returns.model_fields.keys() if agent.returns else set()) - {"structured_response"}
    kept: dict[str, Any] = {}
    for name, value in earlier.variables.items():
        with suppress(Another, Unserializable):
            if name in wanted:
                made = as_declared(value, hints.get(name))
                kept[name] = _saved(values, name, made, value if is_model(schema) else made)
    if left := sorted(earlier.variables.keys() - kept.keys()):
        _log.warning("job %s: the graph of agent %r takes no %s from the thread", session.job_id, agent.name, left)
    return kept


def _saved(values: Values, name: str, made: Any, plain: Any) -> Any:
    """The value, or what stands for it, if the job could save it. pydantic makes objects of plain values itself."""
    try:
        values.seal(made, name)
    except Unserializable:
        values.seal(plain, name)
        return plain
    return made
