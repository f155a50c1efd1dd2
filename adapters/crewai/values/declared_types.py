"""Declared: the types named in a flow's own code. Stored results are restored as these and no others."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from typing import Any, get_args, get_type_hints

from crewai import CrewOutput, Flow, TaskOutput
from crewai.flow.human_feedback import HumanFeedbackResult
from crewai.lite_agent_output import LiteAgentOutput
from pydantic import BaseModel

from ....contracts.agent import Agent
from ....contracts.handoff import Handoff

_KNOWN = (CrewOutput, TaskOutput, LiteAgentOutput, HumanFeedbackResult, Handoff)


def declared(flow: Any, agent: Agent[Any]) -> set[type]:
    """The models, dataclasses and enums that are named in the annotations, code and state of the flow's class, in the
    agent's contracts, and in the fields of all these. CrewAI's own results and handoffs, too."""
    found: set[type] = set()
    flow_class: type[object] = flow.__class__
    ours: list[Any] = [*_KNOWN, agent.accepts, agent.returns, *agent.hands_to.values(), type(flow.state)]
    for named in (*ours, *_named_by(flow_class)):
        _collect(named, found)
    return found


def is_typed(kind: Any) -> bool:
    """Whether values of this class are stored with its name and restored through it."""
    return issubclass(kind, BaseModel | Enum) or hasattr(kind, "__dataclass_fields__")


def _named_by(flow_class: type) -> Iterator[Any]:
    for owner in flow_class.__mro__:
        if owner in Flow.__mro__:
            return
        for function in map(inspect.unwrap, vars(owner).values()):
            if inspect.isfunction(function):
                yield from _named_by_function(function)


def _named_by_function(function: Any) -> Iterator[Any]:
    names: dict[str, Any] = {}
    with suppress(ValueError):  # a closure variable that is not set yet
        variables = inspect.getclosurevars(function)
        names = {**variables.globals, **variables.nonlocals}
    yield from names.values()
    yield from _hints(function, names)


def _hints(thing: Any, names: dict[str, Any]) -> list[Any]:
    """The types in the annotations. None of them if one can't be resolved, because only type checkers see it."""
    try:
        return list(get_type_hints(thing, localns=names).values())
    except (NameError, TypeError, AttributeError):
        return []


def _collect(named: Any, found: set[type]) -> None:
    for argument in get_args(named):
        _collect(argument, found)
    if not isinstance(named, type) or named in found or not is_typed(named):
        return
    kind: Any = named
    found.add(kind)
    if issubclass(kind, BaseModel):
        inner = [field.annotation for field in kind.model_fields.values()]
    else:
        inner = [] if issubclass(kind, Enum) else _hints(kind, {})
    for annotation in inner:
        _collect(annotation, found)
