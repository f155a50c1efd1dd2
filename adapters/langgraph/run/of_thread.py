"""Of a thread: what a graph begins with if its job goes on from a thread that LangGraph ran without a job."""

from __future__ import annotations

import logging
from collections.abc import Set
from contextlib import suppress
from types import UnionType
from typing import Annotated, Any, NotRequired, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

from langgraph.graph.state import CompiledStateGraph
from pydantic import TypeAdapter

from ....contracts.agent import Agent
from ....coordinator.session import Session
from ..serde.allowlist import is_a
from ..serde.plain import readable

_log = logging.getLogger("batonpass.langgraph")


def of_thread(agent: Agent[Any], graph: Any, keys: Set[str], session: Session) -> dict[str, Any]:
    """The thread's values, besides its conversation, for the `keys` that the graph takes. What an agent of a job has
    in its state stays with it: what it hands over is its contract."""
    earlier = session.inherited
    if earlier is None or earlier.framework != "langgraph" or earlier.agent or session.remembered is not None:
        return {}
    hints = _hints(graph)
    # What the job is to return must be new.
    wanted = keys - (agent.returns.model_fields.keys() if agent.returns else set()) - {"structured_response"}
    kept: dict[str, Any] = {}
    for name, value in earlier.variables.items():
        with suppress(_Another):
            if name in wanted:
                kept[name] = _typed(value, hints.get(name))
    if left := sorted(earlier.variables.keys() - kept.keys()):
        _log.warning("job %s: the graph of agent %r takes no %s from the thread", session.job_id, agent.name, left)
    return kept


class _Another(Exception):
    """The graph's state has a value of another type under that name."""


def _hints(graph: Any) -> dict[str, Any]:
    if not is_a(graph, CompiledStateGraph):
        return {}
    try:
        return get_type_hints(graph.builder.input_schema, include_extras=True)
    except Exception:  # annotations may be anything, and LangGraph did without these
        return {}


def _typed(value: Any, hint: Any) -> Any:
    """The value as the graph's state declares it: objects came as their fields. `_Another` if they can't be made."""
    declared = get_args(hint)[0] if get_origin(hint) in (Required, NotRequired) else hint
    try:
        made = value if declared is None else TypeAdapter[Any](declared).validate_python(value)
        same = readable(made) == value
    except Exception:  # an annotation may be anything, and validators are the user's code
        made, same = None, False
    if same:
        return made
    if not _fits(value, declared):
        raise _Another
    return value


def _fits(value: Any, hint: Any) -> bool:
    """Whether a plain value will do, because what is declared has no objects. (Annotations of what is in a dict or list
    are often not quite so.)"""
    if get_origin(hint) is Annotated:
        return _fits(value, get_args(hint)[0])
    if hint in (None, Any):
        return True
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(hint))
    return _is_plain(hint) and isinstance(value, dict if is_typeddict(hint) else get_origin(hint) or hint)


def _is_plain(hint: Any) -> bool:
    if is_typeddict(hint):
        return all(_is_plain(each) for each in get_type_hints(hint).values())
    within = all(_is_plain(each) for each in get_args(hint))
    if hint in (Any, ...) or get_origin(hint) in (Union, UnionType):
        return within
    kind = get_origin(hint) or hint
    return within and isinstance(kind, type) and kind.__module__ == "builtins"
