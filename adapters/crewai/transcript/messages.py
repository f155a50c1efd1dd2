"""CrewAI's messages, which are OpenAI's, to and from the portable transcript."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....contracts.transcript import Blob, Data, Message, Part, Role, Text, Thought, ToolCall, ToolResult
from ....contracts.transcript_losses import Losses
from ...dialects import (
    Dialect,
    Fields,
    arguments_text,
    as_text,
    base64_of,
    blob_from,
    blob_of,
    call_from,
    content_of,
    data_url,
    dict_of,
    results_of,
)

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_OWN = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})


def to_crewai(
    messages: Sequence[Message], losses: Losses | None = None, *, system: bool = True
) -> list[dict[str, Any]]:
    """Portable messages as CrewAI's, with whole tool loops. `system=False` leaves out other agents' instructions."""
    return OPENAI.write_all(messages, Losses() if losses is None else losses, system=system)


def _understand(fields: Fields) -> Message:
    role = _ROLES.get(str(fields.get("role")), "user")
    parts = _content(fields.get("content"))
    if role == "tool":
        call = fields.get("tool_call_id") or ""
        return Message(role=role, parts=[ToolResult(call_id=call, name=fields.get("name"), content=parts)])
    calls = [_call(call) for call in fields.get("tool_calls") or ()] if role == "assistant" else []
    return Message(role=role, author=fields.get("name"), parts=[*parts, *calls])


def _express(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [_result(result) for result in results_of(message)]
    calls = [_function(call) for call in message.calls]
    content = content_of([part for part in message.parts if not isinstance(part, Thought | ToolCall)], _block)
    fields: dict[str, Any] = {"role": message.role, "content": None if calls and not content else content}
    if calls:
        fields["tool_calls"] = calls
    if message.author is not None:
        fields["name"] = message.author
    return [fields]


def _result(result: ToolResult) -> dict[str, Any]:
    content = content_of([*result.content], _block)
    fields: dict[str, Any] = {"role": "tool", "content": content, "tool_call_id": result.call_id}
    if result.name is not None:
        fields["name"] = result.name
    return fields


def _call(call: Any) -> ToolCall:
    function = call["function"]
    return call_from(call.get("id"), function["name"], function.get("arguments"))


def _function(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": arguments_text(call)}
    return {"id": call.id, "type": "function", "function": function}


def _content(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    return [_part(block) for block in content or ()]


def _part(given: object) -> Text | Blob | Data:
    if isinstance(given, str):
        return Text(text=given)
    block = dict_of(given)
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return Text(text=block["text"])
    inner = dict_of(block.get(kind)) if kind in ("image_url", "input_audio", "file") else {}
    return _blob(inner) or Data(value=given)


def _blob(inner: dict[str, Any]) -> Blob | None:
    if isinstance(inner.get("data"), str):
        return blob_of(inner["data"], f"audio/{inner.get('format', '')}")
    url = inner.get("url") or inner.get("file_data")
    return blob_from(url) if isinstance(url, str) else None


def _block(part: Part) -> dict[str, Any]:
    if not isinstance(part, Blob):
        return {"type": "text", "text": as_text([part])}
    main, _, kind = part.mime.partition("/")
    if main == "audio" and part.data is not None:
        return {"type": "input_audio", "input_audio": {"data": base64_of(part), "format": kind}}
    if main == "image" or part.url is not None:
        return {"type": "image_url", "image_url": {"url": data_url(part)}}
    return {"type": "file", "file": {"file_data": data_url(part)}}


OPENAI = Dialect("crewai", _OWN, _understand, _express)
