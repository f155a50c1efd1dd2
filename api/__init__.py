"""Batonpass: jobs that pass from agent to agent and survive.

    import batonpass as bp

    class Topic(bp.Contract, name="desk.topic"):
        text: str

    app = bp.App("desk")

    @app.agent("research", accepts=Topic, returns=Report)
    async def research(topic: Topic, ctx: bp.Context) -> Report: ...

    async with bp.connect("sqlite:///desk.db") as coordinator:
        job = await coordinator.submit("research", Topic(text="..."))
        report = await job.result(timeout=60)

Everything a user needs is a name of this module. Importing it imports no framework and no store's client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from batonpass.app import App
from batonpass.contracts.agent import Agent
from batonpass.contracts.bounds import Rate
from batonpass.contracts.checkpoint import Checkpoint, CheckpointSummary
from batonpass.contracts.contract import Contract, ContractRef, Payload, State
from batonpass.contracts.errors import (
    Ambiguous,
    BadSetup,
    BatonpassError,
    Canceled,
    ChildrenFailed,
    Conflict,
    ContractViolation,
    Corrupted,
    Fenced,
    JobCanceled,
    JobError,
    JobFailed,
    JobRejected,
    KeyConflict,
    MissingExtra,
    NoJob,
    NotDone,
    NotFound,
    OverBudget,
    Overloaded,
    Refused,
    ResultTimeout,
    RetryLater,
    StepMismatch,
    ThreadBusy,
    Trimmed,
    Unanswered,
    Unavailable,
    Unconfirmed,
    UndeclaredHandoff,
    UnknownAgent,
    Unreachable,
    Unserializable,
    WrongState,
)
from batonpass.contracts.guard import Guard, Spent
from batonpass.contracts.handoff import Handoff
from batonpass.contracts.job import Children, JobInfo, JobState, Lease
from batonpass.contracts.options import SubmitOptions
from batonpass.contracts.retry import Retry
from batonpass.contracts.state_types import UnknownValue, state_type

if TYPE_CHECKING:
    from batonpass.adapters.plain import (
        AsyncKeeper,
        Checkpointable,
        JsonFiles,
        Keeper,
        checkpoint,
        register_migration,
        rollback,
    )
    from batonpass.contracts.diff import Change, Diff
    from batonpass.contracts.event import Event
    from batonpass.contracts.fanout import ChildFailed
    from batonpass.contracts.group import GroupInfo
    from batonpass.contracts.inbox import Asks, InboxItem
    from batonpass.contracts.schedule import CatchUp, Schedule
    from batonpass.contracts.transcript import Message, Transcript
    from batonpass.contracts.transcript_losses import Losses
    from batonpass.contracts.webhook import WebhookInfo
    from batonpass.coordinator.client import Coordinator
    from batonpass.coordinator.coded.codec import Codec
    from batonpass.coordinator.connection import Connection, connect
    from batonpass.coordinator.consumer import Consumer, SyncConsumer
    from batonpass.coordinator.job import Job, SyncJob
    from batonpass.coordinator.sync_client import SyncCoordinator
    from batonpass.workers.context import Context, SyncContext, current
    from batonpass.workers.worker import Worker

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "Ambiguous",
    "App",
    "Asks",
    "AsyncKeeper",
    "BadSetup",
    "BatonpassError",
    "Canceled",
    "CatchUp",
    "Change",
    "Checkpoint",
    "CheckpointSummary",
    "Checkpointable",
    "ChildFailed",
    "Children",
    "ChildrenFailed",
    "Codec",
    "Conflict",
    "Connection",
    "Consumer",
    "Context",
    "Contract",
    "ContractRef",
    "ContractViolation",
    "Coordinator",
    "Corrupted",
    "Diff",
    "Event",
    "Fenced",
    "GroupInfo",
    "Guard",
    "Handoff",
    "InboxItem",
    "Job",
    "JobCanceled",
    "JobError",
    "JobFailed",
    "JobInfo",
    "JobRejected",
    "JobState",
    "JsonFiles",
    "Keeper",
    "KeyConflict",
    "Lease",
    "Losses",
    "Message",
    "MissingExtra",
    "NoJob",
    "NotDone",
    "NotFound",
    "OverBudget",
    "Overloaded",
    "Payload",
    "Rate",
    "Refused",
    "ResultTimeout",
    "Retry",
    "RetryLater",
    "Schedule",
    "Spent",
    "State",
    "StepMismatch",
    "SubmitOptions",
    "SyncConsumer",
    "SyncContext",
    "SyncCoordinator",
    "SyncJob",
    "ThreadBusy",
    "Transcript",
    "Trimmed",
    "Unanswered",
    "Unavailable",
    "Unconfirmed",
    "UndeclaredHandoff",
    "UnknownAgent",
    "UnknownValue",
    "Unreachable",
    "Unserializable",
    "WebhookInfo",
    "Worker",
    "WrongState",
    "checkpoint",
    "connect",
    "current",
    "register_migration",
    "rollback",
    "state_type",
]

# Loaded when first used: declaring an app, or a contract alone, needs no event loop and no store.
_LATER = {
    "AsyncKeeper": "adapters.plain",
    "CatchUp": "contracts.schedule",
    "Change": "contracts.diff",
    "Checkpointable": "adapters.plain",
    "ChildFailed": "contracts.fanout",
    "Codec": "coordinator.coded.codec",
    "Connection": "coordinator.connection",
    "Consumer": "coordinator.consumer",
    "Context": "workers.context",
    "Coordinator": "coordinator.client",
    "Diff": "contracts.diff",
    "Event": "contracts.event",
    "GroupInfo": "contracts.group",
    "Asks": "contracts.inbox",
    "InboxItem": "contracts.inbox",
    "Job": "coordinator.job",
    "JsonFiles": "adapters.plain",
    "Keeper": "adapters.plain",
    "Losses": "contracts.transcript_losses",
    "Message": "contracts.transcript",
    "Schedule": "contracts.schedule",
    "SyncConsumer": "coordinator.consumer",
    "SyncContext": "workers.context",
    "SyncCoordinator": "coordinator.sync_client",
    "SyncJob": "coordinator.job",
    "Transcript": "contracts.transcript",
    "WebhookInfo": "contracts.webhook",
    "Worker": "workers.worker",
    "checkpoint": "adapters.plain",
    "connect": "coordinator.connection",
    "current": "workers.context",
    "register_migration": "adapters.plain",
    "rollback": "adapters.plain",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'batonpass' has no attribute {name!r}")
    value = getattr(import_module(f"batonpass.{_LATER[name]}"), name)
    globals()[name] = value
    return value
