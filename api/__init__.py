"""Batonpass: jobs that pass from agent to agent and survive crashes.

    import batonpass as bp

    class Topic(bp.Contract, name="desk.topic"):
        text: str

    class Report(bp.Contract, name="desk.report"):
        body: str

    app = bp.App("desk")

    @app.agent("research", accepts=Topic, returns=Report)
    async def research(topic: Topic, ctx: bp.Context) -> Report: ...

    async with bp.connect("sqlite:///desk.db") as coordinator:
        job = await coordinator.submit("research", Topic(text="..."), returns=Report)
        report = await job.result(timeout=60)

Importing this module imports no framework and no store's client. The other public modules are batonpass.testing for
tests, batonpass.langgraph, .crewai and .agent_framework for those frameworks without jobs, and batonpass.adapter for
writing your own adapter.
"""

from importlib import import_module

from batonpass.contracts.version import __version__ as __version__

TYPE_CHECKING = False  # typing has the same, but takes longer to import than this module
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
    from batonpass.app import App
    from batonpass.contracts.agent import Agent, Isolation, Memory
    from batonpass.contracts.app import AgentOptions
    from batonpass.contracts.bounds import Rate
    from batonpass.contracts.bundle import BundleInfo
    from batonpass.contracts.checkpoint import Checkpoint, CheckpointSummary
    from batonpass.contracts.contract import Contract, ContractRef, Payload, State
    from batonpass.contracts.declared import AgentInfo
    from batonpass.contracts.diff import Change, Diff
    from batonpass.contracts.duration import Duration
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
        Rewound,
        StepMismatch,
        ThreadBusy,
        Trimmed,
        Unanswered,
        Unavailable,
        Unconfirmed,
        UndeclaredHandoff,
        UnknownAgent,
        Unpruned,
        Unreachable,
        Unserializable,
        WrongState,
    )
    from batonpass.contracts.event import Event
    from batonpass.contracts.fanout import ChildFailed, Failures, Wait
    from batonpass.contracts.group import GroupInfo
    from batonpass.contracts.guard import Guard, Spent
    from batonpass.contracts.handoff import Handoff
    from batonpass.contracts.inbox import Asks, InboxItem
    from batonpass.contracts.job import Children, JobInfo, JobState, Lease, OnBusy, Priority
    from batonpass.contracts.key_use import KeyUse
    from batonpass.contracts.options import AskOptions, JobOptions, SubmitOptions
    from batonpass.contracts.part import Part
    from batonpass.contracts.pause import Pause
    from batonpass.contracts.retry import Retries, Retry
    from batonpass.contracts.schedule import CatchUp, Schedule
    from batonpass.contracts.state_types import UnknownValue, state_type
    from batonpass.contracts.transcript import Message, Transcript
    from batonpass.contracts.transcript_losses import Losses
    from batonpass.contracts.webhook import WebhookInfo
    from batonpass.contracts.worker import WorkerInfo
    from batonpass.coordinator.client import Coordinator
    from batonpass.coordinator.coded.codec import Codec
    from batonpass.coordinator.connection import Connection, connect
    from batonpass.coordinator.consumer import Consumer, SyncConsumer
    from batonpass.coordinator.job import Job, SyncJob
    from batonpass.coordinator.safety import UnsafeStore
    from batonpass.coordinator.sync_client import SyncCoordinator
    from batonpass.workers.context.context import Context, SyncContext, current
    from batonpass.workers.context.effects import Unsure
    from batonpass.workers.worker import Worker

__all__ = [
    "Agent",
    "AgentInfo",
    "AgentOptions",
    "Ambiguous",
    "App",
    "AskOptions",
    "Asks",
    "AsyncKeeper",
    "BadSetup",
    "BatonpassError",
    "BundleInfo",
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
    "Duration",
    "Event",
    "Failures",
    "Fenced",
    "GroupInfo",
    "Guard",
    "Handoff",
    "InboxItem",
    "Isolation",
    "Job",
    "JobCanceled",
    "JobError",
    "JobFailed",
    "JobInfo",
    "JobOptions",
    "JobRejected",
    "JobState",
    "JsonFiles",
    "Keeper",
    "KeyConflict",
    "KeyUse",
    "Lease",
    "Losses",
    "Memory",
    "Message",
    "MissingExtra",
    "NoJob",
    "NotDone",
    "NotFound",
    "OnBusy",
    "OverBudget",
    "Overloaded",
    "Part",
    "Pause",
    "Payload",
    "Priority",
    "Rate",
    "Refused",
    "ResultTimeout",
    "Retries",
    "Retry",
    "RetryLater",
    "Rewound",
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
    "Unpruned",
    "Unreachable",
    "UnsafeStore",
    "Unserializable",
    "Unsure",
    "Wait",
    "WebhookInfo",
    "Worker",
    "WorkerInfo",
    "WrongState",
    "checkpoint",
    "connect",
    "current",
    "register_migration",
    "rollback",
    "state_type",
]

# Where the names come from, except for errors. Each is loaded on first use: declaring an app, or only a contract, needs
# no event loop and no store, and a command line that is still loading can end quietly (see __main__.py).
_HOMES = {
    "adapters.plain": "AsyncKeeper Checkpointable JsonFiles Keeper checkpoint register_migration rollback",
    "app": "App",
    "contracts.agent": "Agent Isolation Memory",
    "contracts.app": "AgentOptions",
    "contracts.bounds": "Rate",
    "contracts.checkpoint": "Checkpoint CheckpointSummary",
    "contracts.contract": "Contract ContractRef Payload State",
    "contracts.declared": "AgentInfo",
    "contracts.diff": "Change Diff",
    "contracts.duration": "Duration",
    "contracts.event": "Event",
    "contracts.fanout": "ChildFailed Failures Wait",
    "contracts.bundle": "BundleInfo",
    "contracts.group": "GroupInfo",
    "contracts.guard": "Guard Spent",
    "contracts.handoff": "Handoff",
    "contracts.inbox": "Asks InboxItem",
    "contracts.job": "Children JobInfo JobState Lease OnBusy Priority",
    "contracts.key_use": "KeyUse",
    "contracts.options": "AskOptions JobOptions SubmitOptions",
    "contracts.part": "Part",
    "contracts.pause": "Pause",
    "contracts.retry": "Retries Retry",
    "contracts.schedule": "CatchUp Schedule",
    "contracts.state_types": "UnknownValue state_type",
    "contracts.transcript": "Message Transcript",
    "contracts.transcript_losses": "Losses",
    "contracts.webhook": "WebhookInfo",
    "contracts.worker": "WorkerInfo",
    "coordinator.client": "Coordinator",
    "coordinator.coded.codec": "Codec",
    "coordinator.connection": "Connection connect",
    "coordinator.consumer": "Consumer SyncConsumer",
    "coordinator.job": "Job SyncJob",
    "coordinator.safety": "UnsafeStore",
    "coordinator.sync_client": "SyncCoordinator",
    "workers.context.context": "Context SyncContext current",
    "workers.context.effects": "Unsure",
    "workers.worker": "Worker",
}
_HOME_OF = dict.fromkeys(__all__, "contracts.errors") | {
    name: home for home, names in _HOMES.items() for name in names.split()
}

if not TYPE_CHECKING:  # a type checker knows the names, and should complain about others

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'batonpass' has no attribute {name!r}")
        value = getattr(import_module(f"batonpass.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
