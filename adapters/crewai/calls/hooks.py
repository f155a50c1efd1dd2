"""Hooks: the hooks of one run, assembled from its parts."""

from __future__ import annotations

from typing import Any

from crewai.hooks.dispatch import InterceptionPoint

from .memories import adopt_memories
from .models import adopt_models
from .steps import Steps
from .stop import Stop
from .threads import adopt_crews
from .tools import adopt_tool

Hooks = dict[InterceptionPoint, list[Any]]


def hooks(stop: Stop, steps: Steps, *more: Hooks) -> Hooks:
    """The hooks of a run, in this order: check whether it may continue, then `more`, then let the steps answer for
    models, memories and tools, and leave retries to the job."""
    adopt_models()
    adopt_memories()
    adopt_crews()
    adopting: Hooks = {
        InterceptionPoint.PRE_STEP: [_leave_retries_to_the_job],
        InterceptionPoint.PRE_TOOL_CALL: [_adopt_tool],
    }
    parts = [stop.hooks(), *more, steps.hooks(), adopting]
    return {point: [hook for part in parts for hook in part.get(point, ())] for point in InterceptionPoint}


def _adopt_tool(call: Any) -> None:
    adopt_tool(call.tool)


def _leave_retries_to_the_job(step: Any) -> None:
    """CrewAI would have an agent whose model failed begin its task anew in the same attempt, twice: at once, whatever
    the error or the job's `retries=` say, and with all that its models and tools had done for it. One to which another
    agent delegates keeps its own: its error would be told to that agent, which may delegate again."""
    if step.kind == "task" and hasattr(step.agent, "max_retry_limit"):
        step.agent.max_retry_limit = 0
