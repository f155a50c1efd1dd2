"""The private attributes of the Agent Framework that the adapter needs. Nothing else here touches one."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

from agent_framework import FunctionalWorkflow, FunctionalWorkflowDefinition, Workflow, WorkflowEvent

# A workflow that was given no name has a new one in every process.
_NAMELESS = re.compile(r"WorkflowBuilder-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_nameless(workflow_name: str) -> bool:
    """Whether the framework made up this name."""
    return _NAMELESS.fullmatch(workflow_name) is not None


def runnable(
    workflow: Workflow | FunctionalWorkflow | FunctionalWorkflowDefinition,
) -> Workflow | FunctionalWorkflow:
    """The workflow, made from its function (`@workflow`) if it is one."""
    return workflow.build() if isinstance(workflow, FunctionalWorkflowDefinition) else workflow


@contextmanager
def outputs_go_to(
    workflow: Workflow | FunctionalWorkflow, note: Callable[[WorkflowEvent[Any]], None]
) -> Generator[None]:
    """Tell `note` of each output at once. The framework returns outputs only when the run ends, and puts them into no
    checkpoint. (A function gives its outputs anew: it runs again, over the results of its finished steps.)"""
    if isinstance(workflow, FunctionalWorkflow):
        yield
        return
    context = cast(Any, workflow._runner.context)
    add_event = context.add_event

    async def noted(event: WorkflowEvent[Any]) -> None:
        if event.type in ("output", "intermediate"):
            note(event)
        await add_event(event)

    context.add_event = noted
    try:
        yield
    finally:
        del context.add_event
