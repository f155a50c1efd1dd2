"""BatonpassCheckpointStorage: a checkpoint storage for Agent Framework workflows, on any of our stores."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ...contracts.checkpoint import Checkpoint, CheckpointSummary
from ...contracts.duration import Duration
from ...contracts.errors import MissingExtra, NotFound
from ...contracts.names import is_id
from ...coordinator.calls import adrive
from ...coordinator.calls.checkpoints import Place, save_and_free
from ...coordinator.calls.freeing import Freeing
from ...coordinator.client import Coordinator
from ...coordinator.parts.bases import Bases
from ..versions import warn_if_untested

if TYPE_CHECKING:
    from agent_framework import (
        FunctionalWorkflow,
        FunctionalWorkflowDefinition,
        Workflow,
        WorkflowCheckpoint,
        WorkflowEvent,
        WorkflowRunResult,
    )


class NotSaved(BaseException):
    """A workflow stops because its checkpoint was not saved. `__cause__` says why.

    Not an Exception: the framework would log it and continue without a checkpoint. After a crash that would repeat
    finished work, or let two processes continue one run.
    """


class BatonpassCheckpointStorage:
    """The framework's `CheckpointStorage`, for one run of a workflow. Give each run its own thread.

    No pickle: a state may hold plain values, the framework's messages, contracts, and classes registered with
    `@bp.state_type`. Saving anything else is refused. The provider's own object in messages and responses
    (`raw_representation`) is not stored. `ttl` applies to each checkpoint, in seconds or as a timedelta.

    If a run continues in two processes, the slower one stops: its save raises `NotSaved` with a `Conflict`. A run
    resumed from an older checkpoint makes a branch. You can find checkpoints by the framework's ids or by ours. If
    several have one id (a fork keeps the framework's), the newest counts.
    """

    def __init__(self, coordinator: Coordinator, thread: str, *, ttl: Duration | None = None) -> None:
        if find_spec("agent_framework") is None:
            raise MissingExtra("the Agent Framework is not installed: pip install 'batonpass[agent-framework]'")
        warn_if_untested("agent-framework-core", "1.23.0", "1.23")
        from . import records  # imports the framework
        from .types import register

        register()
        self.thread = thread
        self._records = records
        self._coordinator = coordinator
        self._bases = Bases(coordinator.store.codec)
        self._freeing = Freeing()
        self._ttl = ttl
        # The checkpoint that this run continues from: the framework's id, ours, and whether it was the thread's newest.
        self._last: tuple[str, str, bool] = ("", "", False)
        self._outputs: list[WorkflowEvent[Any]] = []

    async def run(
        self,
        workflow: Workflow | FunctionalWorkflow | FunctionalWorkflowDefinition,
        message: Any = None,
        *,
        responses: Mapping[str, Any] | None = None,
    ) -> WorkflowRunResult:
        """Run the workflow, or the function with `@workflow`, from where this run stopped, or from `message` if it has
        not started.

        `responses` answers its requests, by request id. The result has the outputs of all processes. Raises what a save
        raised.
        """
        from .private import outputs_go_to, runnable

        made = runnable(workflow)
        found = await self._stopped(made.name)
        self._outputs = list(self._records.outputs_of(found)) if found else []
        earlier = len(self._outputs)
        try:
            with outputs_go_to(made, self._outputs.append):
                if found is None:
                    return await made.run(message, checkpoint_storage=self)
                given = dict(responses) if responses is not None else None
                result = await made.run(checkpoint_id=found.id, responses=given, checkpoint_storage=self)
        except NotSaved as stopped:
            raise (stopped.__cause__ or stopped) from None
        result[:0] = self._outputs[:earlier]
        return result

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        """Save a checkpoint and return its id. When this returns, it is stored. Raises `NotSaved`."""
        try:
            parent, branch = await self._parent(checkpoint.previous_checkpoint_id)
            try:
                saved = await self._saved(checkpoint, parent, branch)
            except NotFound:
                if await self._coordinator.timeline(self.thread, limit=1):
                    raise
                saved = await self._saved(checkpoint, None, False)  # all of this run has expired while it went on
        except Exception as error:
            raise NotSaved(f"checkpoint {checkpoint.checkpoint_id} was not saved: {error}") from error
        self._last = checkpoint.checkpoint_id, saved.id, True
        return checkpoint.checkpoint_id

    async def _saved(self, checkpoint: WorkflowCheckpoint, parent: str | None, branch: bool) -> Checkpoint:
        place = Place(self.thread, checkpoint.workflow_name, parent, branch, self._ttl)
        snapshot = self._records.snapshot_of(checkpoint, self._outputs)
        return await adrive(self._coordinator.store, save_and_free(self._bases, self._freeing, place, snapshot))

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        """Load a checkpoint by its id. Raises the framework's `WorkflowCheckpointException` if there is none."""
        found = await self._find(checkpoint_id)
        if not found:
            from agent_framework import WorkflowCheckpointException

            raise WorkflowCheckpointException(f"no checkpoint {checkpoint_id!r} on thread {self.thread!r}")
        newest = await self._coordinator.timeline(self.thread, limit=1)
        loaded = await self._open(found[0])
        self._last = loaded.checkpoint_id, found[0].id, found[0].id == newest[0].id
        return loaded

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        """A workflow's checkpoints, oldest first."""
        return [await self._open(each) for each in await self._summaries(workflow_name)]

    async def delete(self, checkpoint_id: str) -> bool:
        """Delete a checkpoint, and return whether there was one. Checkpoints that came from it stay."""
        found = await self._find(checkpoint_id)
        for each in found:
            await self._coordinator.expire(each.id)
        return bool(found)

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        """A workflow's newest checkpoint, or None."""
        found = await self._newest(workflow_name)
        return self._records.checkpoint_of(found) if found else None

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        """The ids of a workflow's checkpoints, oldest first."""
        return [str(each.context[self._records.ID]) for each in await self._summaries(workflow_name)]

    async def _stopped(self, workflow_name: str) -> Checkpoint | None:
        """Where a workflow's run stopped. The name of one that was given none is another one now."""
        from .private import is_nameless

        if not is_nameless(workflow_name):
            return await self._newest(workflow_name)
        framework = self._records.FRAMEWORK
        newest = await self._coordinator.timeline(self.thread, limit=1, framework=framework)
        found = [each for each in newest if is_nameless(each.agent)]
        return await self._coordinator.restore(found[0].id) if found else None

    async def _newest(self, workflow_name: str) -> Checkpoint | None:
        framework = self._records.FRAMEWORK
        found = await self._coordinator.timeline(self.thread, limit=1, agent=workflow_name, framework=framework)
        return await self._coordinator.restore(found[0].id) if found else None

    async def _parent(self, previous: str | None) -> tuple[str | None, bool]:
        """Our id of the checkpoint that a new one comes from, and whether others may have come from it already."""
        if previous is None:
            return None, False
        known, ours, newest = self._last
        if known == previous:
            return ours, not newest
        found = await self._find(previous)
        return (found[0].id, True) if found else (None, False)

    async def _find(self, checkpoint_id: str) -> list[CheckpointSummary]:
        """The thread's checkpoints with that id, newest first."""
        if is_id(checkpoint_id, "c"):
            everything = await self._everything()
            return [each for each in everything if each.id == checkpoint_id]
        return await self._everything(context={self._records.ID: checkpoint_id})

    async def _everything(self, **wanted: Any) -> list[CheckpointSummary]:
        framework = self._records.FRAMEWORK
        return await self._coordinator.timeline(self.thread, limit=sys.maxsize, framework=framework, **wanted)

    async def _summaries(self, workflow_name: str) -> list[CheckpointSummary]:
        """The newest checkpoint of each id, oldest first."""
        newest_first = await self._everything(agent=workflow_name)
        distinct = {each.context[self._records.ID]: each for each in reversed(newest_first)}
        return list(distinct.values())

    async def _open(self, found: CheckpointSummary) -> WorkflowCheckpoint:
        return self._records.checkpoint_of(await self._coordinator.restore(found.id))
