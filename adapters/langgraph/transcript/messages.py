"""LangChain's messages, to and from the portable transcript. As plain dicts this needs no LangChain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....contracts.transcript import (
    Blob,
    Data,
    Message,
    Part,
    Role,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    Usage,
)
from ....contracts.transcript_losses import Losses
from ...dialects import Dialect, Fields, base64_of, blob_from, blob_of, content_of, data_text, dict_of, results_of

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_ROLES: dict[str, Role] = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
_TYPES = {"user": "human", "assistant": "ai", "system": "system", "tool": "tool"}
_MEDIA = ("image", "audio", "video", "file")
_OWN = frozenset(
    {
        *("type", "content", "name", "id", "tool_calls", "invalid_tool_calls", "usage_metadata"),
        *("tool_call_id", "status"),
    }
)
_CLASSES = ("AI", "Chat", "Function", "Human", "System", "Tool")


def write_messages(messages: Sequence[Message], losses: Losses) -> list[dict[str, Any]]:
    """Messages as dicts: each with its `type`, and its fields that differ from their defaults."""
    return LANGCHAIN.write_all(messages, losses)


def to_langchain(messages: Sequence[Message], losses: Losses | None = None) -> list[BaseMessage]:
    """Portable messages as LangChain's, with whole tool loops."""
    from langchain_core import messages as langchain

    kinds: dict[str, type[BaseMessage]] = {}
    for name in (f"{kind}Message{chunk}" for kind in _CLASSES for chunk in ("", "Chunk")):
        kind: type[BaseMessage] = getattr(langchain, name)
        kinds[kind.model_fields["type"].default] = kind
    told = write_messages(messages, Losses() if losses is None else losses)
    return [kinds[fields["type"]](**fields) for fields in told]


def _understand(fields: Fields) -> Message:
    kind = str(fields.get("type", "")).removesuffix("MessageChunk")
    kind = {"AI": "ai", "Human": "human", "System": "system", "Tool": "tool", "Function": "function"}.get(kind, kind)
    role = _ROLES.get(kind, "user")
    calls = [_call(call) for call in fields.get("tool_calls") or ()]
    calls += [_invalid(call) for call in fields.get("invalid_tool_calls") or ()]
    parts = _content(fields.get("content"), {call.id for call in calls} if calls else set())
    author = fields.get("name")
    if role == "tool":
        result = ToolResult(
            call_id=fields.get("tool_call_id", ""), name=author, content=parts, failed=fields.get("status") == "error"
        )
        return Message(role=role, id=fields.get("id"), parts=[result])
    usage = fields.get("usage_metadata")
    return Message(
        role=role,
        author=author,
        id=fields.get("id"),
        parts=[*_fitting(parts, role), *(calls if role == "assistant" else ())],
        usage=Usage(input=usage["input_tokens"], output=usage["output_tokens"]) if usage else None,
    )


def _express(message: Message) -> list[dict[str, Any]]:
    fields: dict[str, Any] = {"type": _TYPES[message.role]}
    if message.role == "tool":
        return [_result(message, number, result) for number, result in enumerate(results_of(message))]
    said = [part for part in message.parts if not isinstance(part, ToolCall | ToolResult)]
    fields["content"] = content_of(said, _block)
    fields.update({name: value for name, value in (("name", message.author), ("id", message.id)) if value is not None})
    if message.role == "assistant":
        fields.update(_calls(message.calls))
        if message.usage is not None:
            taken, given = message.usage.input, message.usage.output
            fields["usage_metadata"] = {"input_tokens": taken, "output_tokens": given, "total_tokens": taken + given}
    return [fields]


def _result(message: Message, number: int, result: ToolResult) -> dict[str, Any]:
    content = content_of([*result.content], _block)
    fields: dict[str, Any] = {"type": "tool", "content": content, "tool_call_id": result.call_id}
    if result.name is not None:
        fields["name"] = result.name
    if message.id is not None:
        fields["id"] = f"{message.id}/{number}" if number else message.id
    if result.failed:
        fields["status"] = "error"
    return fields


def _call(call: Fields) -> ToolCall:
    return ToolCall(id=call.get("id"), name=call["name"], arguments=dict(call["args"]))


def _invalid(call: Fields) -> ToolCall:
    return ToolCall(id=call.get("id"), name=call.get("name") or "", raw=call.get("args") or "", error=call.get("error"))


def _calls(calls: Sequence[ToolCall]) -> dict[str, Any]:
    right = [
        {"name": call.name, "args": call.arguments, "id": call.id, "type": "tool_call"}
        for call in calls
        if call.raw is None
    ]
    wrong = [
        {"name": call.name, "args": call.raw, "id": call.id, "error": call.error, "type": "invalid_tool_call"}
        for call in calls
        if call.raw is not None
    ]
    return {name: found for name, found in (("tool_calls", right), ("invalid_tool_calls", wrong)) if found}


def _fitting(parts: list[Any], role: Role) -> list[Part]:
    """The parts of a message. A thought that is not in a model's message becomes an ordinary block."""
    if role == "assistant":
        return parts
    return [Data(value={"type": "reasoning", "reasoning": p.text}) if isinstance(p, Thought) else p for p in parts]


def _content(content: Any, calls: set[str | None]) -> list[Any]:
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    found = [_part(block) for block in content or ()]
    # Some providers repeat their calls here. Once is enough.
    return [part for part, block in zip(found, content or (), strict=True) if not _says_call(block, calls)]


def _says_call(given: object, calls: set[str | None]) -> bool:
    block = dict_of(given)
    kinds = ("tool_use", "tool_call", "function_call")
    return block.get("type") in kinds and not calls.isdisjoint({block.get("id"), block.get("call_id")})


def _part(given: object) -> Text | Thought | Blob | Data:
    if isinstance(given, str):
        return Text(text=given)
    block = dict_of(given)
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return Text(text=block["text"])
    for name in ("reasoning", "thinking"):
        if kind == name and isinstance(block.get(name), str):
            return Thought(text=block[name])
    found = _image_url(block) if kind == "image_url" else _media(block) if kind in _MEDIA else None
    return found or Data(value=given)


def _image_url(block: dict[str, Any]) -> Blob | None:
    given = block.get("image_url")
    url = dict_of(given).get("url", given)
    return blob_from(url) if isinstance(url, str) else None


def _media(block: dict[str, Any]) -> Blob | None:
    source = dict_of(block.get("source")) or block
    mime = source.get("mime_type") or source.get("media_type") or ""
    data = source.get("base64") or source.get("data")
    if data is not None:
        return blob_of(data, mime)
    url = source.get("url")
    return blob_from(url, mime) if isinstance(url, str) else None


def _block(part: Any) -> dict[str, Any]:
    if isinstance(part, Thought):
        return {"type": "reasoning", "reasoning": part.text}
    if isinstance(part, Data):
        return {"type": "text", "text": data_text(part)}
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    main = part.mime.partition("/")[0]
    where = {"url": part.url} if part.url is not None else {"base64": base64_of(part)}
    about = {"mime_type": part.mime} if part.mime else {}
    return {"type": main if main in _MEDIA else "file" if part.mime else "image", **where, **about}


LANGCHAIN = Dialect("langchain", _OWN, _understand, _express)
