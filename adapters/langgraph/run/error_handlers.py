"""Error handlers of nodes that ask questions. LangGraph resumes the handlers, but its states don't show that they
wait."""

from __future__ import annotations

from typing import Any, cast

from langgraph.checkpoint.serde.types import INTERRUPT
from langgraph.types import PregelTask, StateSnapshot

from ..internals import HANDLER
from .missing_nodes import ended_tasks
from .progress import Latest


def with_handlers(state: StateSnapshot, latest: Latest) -> StateSnapshot:
    """The state, with the questions of error handlers added to the tasks that failed. `latest` is its checkpoint."""
    over = set(ended_tasks(latest))
    asked: dict[str, Any] = {
        latest.paths.get(task, ""): value
        for task, channel, value in latest.read.pending_writes or ()
        if channel == INTERRUPT and task not in over
    }
    tasks = tuple(_with_handler(task, asked) for task in state.tasks)
    return state._replace(tasks=tasks, interrupts=tuple(each for task in tasks for each in task.interrupts))


def _with_handler(task: PregelTask, asked: dict[str, Any]) -> PregelTask:
    handler = f"~{path_of(task)}, {HANDLER}, "
    more = [each for path, value in asked.items() if path.startswith(handler) for each in value]
    return task._replace(interrupts=(*task.interrupts, *more)) if more else task


def path_of(task: PregelTask) -> str:
    """A task's path as LangGraph stores it with the task's writes, without the mark before it."""
    path = cast("Any", task).path[:3]
    return ", ".join(f"{part:010}" if isinstance(part, int) else str(part) for part in path)
