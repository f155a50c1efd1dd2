"""Running: which of a graph's tasks runs the code that asks."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

# Also for the code of subgraphs, and of other graphs, that a task runs: LangGraph's own config would name their tasks.
_TASK = ContextVar("batonpass_langgraph_task", default="")


class RunningTasks(BaseCallbackHandler):
    """The tasks of the job's graph as the parts of its agent. LangChain calls this when something in the graph begins,
    or has ended well."""

    run_inline = True  # in the context in which the task's code runs next

    def __init__(self) -> None:
        self._graph: UUID | None = None
        self._tasks: dict[UUID, str] = {}

    def here(self) -> str:
        """The id of the task whose code this is. Empty outside of tasks, and in threads that a task has started itself:
        Python doesn't tell them where they come from."""
        return _TASK.get()

    def likely(self) -> str:
        """The ids of all tasks that run now, or were interrupted: those may pass the job on."""
        return " ".join(sorted({*self._tasks.copy().values()}))  # a copy, because this may be another thread

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: dict[str, Any],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note a task. The graph itself begins first, and what it runs directly are its tasks."""
        if self._graph is None:
            self._graph = run_id
        elif parent_run_id == self._graph:
            place: str = (metadata or {}).get("langgraph_checkpoint_ns", "")
            self._tasks[run_id] = place.rpartition(":")[2]
            _TASK.set(self._tasks[run_id])

    def on_chain_end(self, outputs: dict[str, Any], *, run_id: UUID, **kwargs: Any) -> None:
        """A task has ended."""
        self._tasks.pop(run_id, None)
