"""Conditions: what a conditional task's condition said is recorded, so that a restart does not decide it anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from crewai.tasks.conditional_task import ConditionalTask

from .. import internals
from ..calls.steps import Steps

_CONDITION = "should_execute"


def keep_decision(task: Any, steps: Steps, place: str, *, finished: bool) -> None:
    """Have a conditional task ask its condition once for each output that it is asked about. A finished one has been
    decided on, whatever that output is now."""
    if isinstance(task, ConditionalTask):
        decide = _yes if finished else partial(_decided, task.should_execute, steps, place)
        internals.shadow(task, _CONDITION, decide)


def forget_decision(task: Any) -> None:
    """Undo `keep_decision`."""
    task.__dict__.pop(_CONDITION, None)


def _yes(_: Any) -> bool:
    return True


def _decided(condition: Callable[[Any], bool], steps: Steps, place: str, output: Any) -> bool:
    steps.enter(place)
    call = steps.begin("condition", output.raw)
    if call.answer is not None:
        return bool(call.answer[1])
    with steps.attempting(call):
        says = bool(condition(output))
    steps.record(call, ["plain", says])
    return says
