"""AutoGen's messages, to and from the portable transcript. As plain dicts this needs no AutoGen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....contracts.transcript import Blob, Message, Part, Role, Text, Thought, ToolCall, ToolResult
from ....contracts.transcript_losses import Losses
from ...dialects import Dialect, Fields, arguments_text, as_text, base64_of, blob_of, call_from, content_of

if TYPE_CHECKING:
    from autogen_core.models import LLMMessage

_ROLES: dict[str, Role] = {
    "SystemMessage": "system",
    "UserMessage": "user",
    "AssistantMessage": "assistant",
    "FunctionExecutionResultMessage": "tool",
}
_TYPES = {role: name for name, role in _ROLES.items()}
_OWN = frozenset({"type", "content", "source", "thought"})
_PNG = "image/png"


def to_autogen(messages: Sequence[Message], losses: Losses | None = None, *, system: bool = True) -> list[LLMMessage]:
    """Portable messages as AutoGen's, with whole tool loops. `system=False` leaves out other agents' instructions."""
    from autogen_core.models import LLMMessage as AnyMessage
    from pydantic import TypeAdapter

    told = write_messages(messages, Losses() if losses is None else losses, system=system)
    adapter: TypeAdapter[LLMMessage] = TypeAdapter(AnyMessage)
    return [adapter.validate_python(fields) for fields in told]


def write_messages(messages: Sequence[Message], losses: Losses, *, system: bool = True) -> list[dict[str, Any]]:
    """Messages as AutoGen dumps them."""
    return AUTOGEN.write_all(messages, losses, system=system)


def _understand(fields: Fields) -> Message:
    role, content = _ROLES[fields["type"]], fields["content"]
    if role == "tool":
        return Message(role=role, parts=[result_from(result) for result in content])
    parts: list[Part] = []
    if fields.get("thought") is not None and role == "assistant":
        parts.append(Thought(text=fields["thought"]))
    if isinstance(content, str):
        parts += [Text(text=content)] if content else []
    elif role == "assistant":
        parts += [call_from(call["id"], call["name"], call["arguments"]) for call in content]
    else:
        parts += [picture_or_text(piece) for piece in content]
    return Message(role=role, author=fields.get("source"), parts=parts)


def _express(message: Message) -> list[dict[str, Any]]:
    fields: dict[str, Any] = {"type": _TYPES[message.role]}
    if message.role == "tool":
        return [{**fields, "content": [_executed(result) for result in message.results]}]
    if message.role == "system":
        return [{**fields, "content": as_text(message.parts)}]
    fields["source"] = message.author or message.role
    if message.role == "user":
        return [{**fields, "content": content_of(message.parts, _piece)}]
    return [{**fields, **_assistant(message)}]


def _assistant(message: Message) -> dict[str, Any]:
    thoughts = [part for part in message.parts if isinstance(part, Thought)]
    said = [part for part in message.parts if not isinstance(part, Thought | ToolCall)]
    if not message.calls:
        return {"content": as_text(said), "thought": as_text(thoughts) if thoughts else None}
    # A message with calls has no other place for text. AutoGen's own clients put it there, too.
    beside = as_text([*thoughts, *said])
    calls = [{"id": call.id or "", "arguments": arguments_text(call), "name": call.name} for call in message.calls]
    return {"content": calls, "thought": beside if thoughts or said else None}


def result_from(result: Fields) -> ToolResult:
    """A tool's result from its dump."""
    said = [Text(text=result["content"])] if result["content"] else []
    return ToolResult(call_id=result["call_id"], name=result["name"], content=[*said], failed=result["is_error"])


def _executed(result: ToolResult) -> dict[str, Any]:
    content = as_text([*result.content])
    return {"content": content, "name": result.name or "", "call_id": result.call_id, "is_error": result.failed}


def picture_or_text(piece: Any) -> Text | Blob:
    """A piece of a message that has several."""
    if isinstance(piece, str):
        return Text(text=piece)
    blob = blob_of(piece["data"], _PNG)
    if blob is None:
        raise ValueError("an image in an AutoGen message is not base64")
    return blob


def _piece(part: Part) -> Any:
    return {"data": base64_of(part)} if isinstance(part, Blob) and _is_picture(part) else as_text([part])


def _is_picture(blob: Blob) -> bool:
    return blob.data is not None and blob.mime in (_PNG, "image/jpeg")


AUTOGEN = Dialect("autogen", _OWN, _understand, _express)
