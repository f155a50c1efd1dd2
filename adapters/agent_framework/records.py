"""Records: a workflow's checkpoint as a checkpoint of ours, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, cast

from agent_framework import WorkflowCheckpoint, WorkflowEvent

from ...contracts.checkpoint import Checkpoint, Snapshot
from ...contracts.errors import BadSetup
from ...contracts.state_types import UnknownValue

FRAMEWORK = "agent_framework"
FORMAT = 1
ID = "workflow_checkpoint"  # where a checkpoint's context holds the framework's own id
_STATE = {"state": "state", "messages": "messages", "requests": "pending_request_info_events"}
_NATIVE = tuple(field.name for field in fields(WorkflowCheckpoint) if field.name not in _STATE.values())


def snapshot_of(checkpoint: WorkflowCheckpoint, outputs: Sequence[WorkflowEvent[Any]]) -> Snapshot:
    """A workflow's checkpoint as ours. Its state has the executors' and the shared state, messages on their way, open
    requests, and the run's outputs so far. The rest is native."""
    return Snapshot(
        step=f"superstep {checkpoint.iteration_count}",
        state={**{name: getattr(checkpoint, field) for name, field in _STATE.items()}, "outputs": [*outputs]},
        framework=FRAMEWORK,
        native={"v": FORMAT, **{name: getattr(checkpoint, name) for name in _NATIVE}},
        context={ID: checkpoint.checkpoint_id},
    )


def checkpoint_of(found: Checkpoint) -> WorkflowCheckpoint:
    """The workflow's checkpoint that `snapshot_of` kept. `BadSetup` if this process can't read it."""
    native = dict(found.native)
    if native.pop("v") != FORMAT:
        raise BadSetup(f"checkpoint {found.id} is from a newer Batonpass: upgrade this process")
    if unknown := next(_unknown(found.state), None):
        raise BadSetup(
            f"checkpoint {found.id} holds a {unknown.type_name!r}, and this process has no class of that name: import "
            "the module that registers it"
        )
    known = {name: value for name, value in native.items() if name in _NATIVE}
    return WorkflowCheckpoint(**known, **{field: found.state[name] for name, field in _STATE.items()})


def outputs_of(found: Checkpoint) -> list[WorkflowEvent[Any]]:
    """The run's outputs up to a checkpoint."""
    outputs: list[WorkflowEvent[Any]] = found.state["outputs"]
    return outputs


def _unknown(value: Any) -> Iterator[UnknownValue]:
    """The values in a state whose classes this process does not know."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, UnknownValue):
            yield each
        elif isinstance(each, Mapping):
            waiting += each.values()
        elif isinstance(each, list | tuple | set | frozenset):
            waiting += cast("Iterable[Any]", each)
        elif is_dataclass(each) and not isinstance(each, type):
            waiting += [getattr(each, field.name) for field in fields(each)]
        elif isinstance(getattr(each, "__dict__", None), dict):  # not a class: what it defines is not state
            waiting += vars(each).values()
