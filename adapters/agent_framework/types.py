"""The framework's types in states. Found by the entry point `batonpass.state_types`, when one is saved or read.

The framework's own storages pickle these. Here each is stored as its fields under its own name. Only the types named
here, types registered by the user and plain values can come back.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...contracts.state_types import state_type
from .classes import class_named, name_of

# These names are stored: values of a type that is removed here can't be read any more.
_SELF_EVIDENT = (
    *("AgentExecutorRequest", "AgentExecutorResponse", "SubWorkflowRequestMessage", "SubWorkflowResponseMessage"),
    *("WorkflowCheckpoint", "WorkflowErrorDetails", "WorkflowEventSource", "WorkflowMessage", "WorkflowRunState"),
)
_CLASSES = frozenset({"_request_type", "_response_type", "_response_format"})
_ORCHESTRATIONS = {
    "_base_group_chat_orchestrator": (
        *("GroupChatParticipantMessage", "GroupChatRequestMessage", "GroupChatResponseMessage"),
    ),
    "_group_chat": ("AgentOrchestrationOutput", "GroupChatState"),
    "_handoff": ("HandoffAgentUserRequest", "HandoffConfiguration"),
    "_magentic": (
        *("MagenticContext", "MagenticPlanReviewRequest", "MagenticPlanReviewResponse", "MagenticProgressLedger"),
        "MagenticProgressLedgerItem",
    ),
    "_orchestration_request_info": ("AgentRequestInfoResponse",),
    "_orchestration_state": ("OrchestrationState",),
}


def register() -> None:
    """Register the types of agent_framework that a workflow's checkpoint may hold."""
    import agent_framework as framework

    for name in _SELF_EVIDENT:
        state_type(f"agent_framework.{name}", getattr(framework, name))
    # Not exported by the framework.
    state_type("agent_framework.MessageType", type(framework.WorkflowMessage(None, "").type))
    for example in (
        framework.AgentResponse(),
        framework.AgentResponseUpdate(),
        framework.ChatResponse(),
        framework.ChatResponseUpdate(),
        framework.Content("text"),
        framework.Message("user"),
        framework.WorkflowEvent("started"),
    ):
        _register_fields("agent_framework", example)


def register_orchestrations() -> None:
    """Register the messages and states of agent_framework_orchestrations. Most are in private modules."""
    for module_name, names in _ORCHESTRATIONS.items():
        module = import_module(f"agent_framework_orchestrations.{module_name}")
        for name in names:
            state_type(f"agent_framework_orchestrations.{name}", getattr(module, name))
    magentic = import_module("agent_framework_orchestrations._magentic")
    _register_fields("agent_framework_orchestrations", magentic.MagenticResetSignal())


def _register_fields(package: str, example: object) -> None:
    kind = example.__class__
    fields = _Fields(kind, vars(example))
    state_type(f"{package}.{kind.__name__}", kind, dump=fields.dump, load=fields.load)


class _Fields:
    """An object's fields, without those that are None, as most are.

    `raw_representation`, the provider's own object behind a message, is left out: it can be of any class, and the
    framework itself drops it where it can.
    """

    def __init__(self, kind: Any, example: dict[str, Any]) -> None:
        self._kind = kind
        self._empty: dict[str, Any] = {name: None for name in example if example[name] is None}

    def dump(self, value: Any) -> dict[str, Any]:
        held: dict[str, Any] = value.__getstate__() or {}
        return {
            name: ["class", name_of(item)] if _is_class(name, item) else item
            for name, item in held.items()
            if item is not None and name != "raw_representation"
        }

    def load(self, stored: dict[str, Any]) -> Any:
        value = self._kind.__new__(self._kind)
        classes = {name: class_named(item[1]) for name, item in stored.items() if _is_class(name, item)}
        value.__dict__.update({**self._empty, **stored, **classes})
        return value


def _is_class(name: str, item: object) -> bool:
    """Whether a field holds a class, or its name in a list. One of the framework's may hold a JSON schema instead."""
    return name in _CLASSES and not isinstance(item, dict)
