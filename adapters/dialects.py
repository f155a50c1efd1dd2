"""Dialects: convert between a framework's messages, as plain dicts, and portable ones. The part that all frameworks
share."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic_core import from_json, to_json

from ..contracts.alike import alike
from ..contracts.transcript import Blob, Data, Message, Native, Part, Text, Thought, ToolCall, ToolResult
from ..contracts.transcript_loops import whole
from ..contracts.transcript_losses import Losses

Fields = Mapping[str, Any]
"""A framework's message as a plain dict."""


@dataclass(frozen=True)
class Dialect:
    """How one framework writes messages.

    `understand` converts fields to a message. `express` converts a message to fields: several messages if the framework
    splits it, none if it can't express it. Both handle only what portable messages have. Other fields are kept in the
    message's `native`, so that a message comes back unchanged. `own` are the fields that `understand` reads.
    """

    framework: str
    own: frozenset[str]
    understand: Callable[[Fields], Message]
    express: Callable[[Message], list[dict[str, Any]]]

    def read(self, fields: Fields) -> Message:
        """A framework's message as a portable one."""
        message = self.understand(fields)
        usual = self.express(message)
        said = usual[0] if len(usual) == 1 else {}
        differs = {name: value for name, value in fields.items() if name not in said or not alike(said[name], value)}
        native = Native(
            form={name: value for name, value in differs.items() if name in self.own},
            without=[name for name in said if name not in fields],
            more={name: value for name, value in differs.items() if name not in self.own},
        )
        if native == Native():
            return message
        return message.model_copy(update={"native": {self.framework: native}})

    def write(self, message: Message, losses: Losses, where: str = "") -> list[dict[str, Any]]:
        """A portable message as the framework's. Counts what it can't express."""
        losses.foreign(message, self.framework, where)
        written = self.express(message)
        native = message.native.get(self.framework)
        if native and len(written) == 1:
            formed = {**written[0], **native.form}
            formed = {name: value for name, value in formed.items() if name not in native.without}
            # A message that was changed since is written in the usual way.
            if self._same(formed, message):
                return [{**formed, **native.more}]
            written = [{**written[0], **native.more}]
        losses.compare(message, self._together(written), where)
        return written

    def write_all(self, messages: Sequence[Message], losses: Losses, *, system: bool = True) -> list[dict[str, Any]]:
        """Portable messages as the framework's, with whole tool loops. `system=False` leaves out the instructions that
        were given to another agent."""
        written: list[dict[str, Any]] = []
        for at, message in enumerate(whole(messages, losses)):
            if message.role == "system" and not system:
                losses.add("system message", f"messages[{at}]")
                continue
            written += self.write(message, losses, f"messages[{at}]")
        return written

    def _same(self, fields: Fields, message: Message) -> bool:
        try:
            return alike(self.understand(fields), message.model_copy(update={"native": {}}))
        except (ValueError, TypeError, KeyError, AttributeError):  # a form that does not belong to the message
            return False

    def _together(self, written: list[dict[str, Any]]) -> Message | None:
        read = [self.understand(fields) for fields in written]
        parts = [part for message in read for part in message.parts]
        return read[0].model_copy(update={"parts": parts}) if read else None


def as_text(parts: Sequence[Part]) -> str:
    """Parts as one text, for where only a text fits."""
    return "".join(_told(part) for part in parts)


def _told(part: Part) -> str:
    if isinstance(part, Text | Thought):
        return part.text
    if isinstance(part, Blob):
        return f"[{part.mime or 'file'}: {part.url or f'{len(part.data or bytes())} bytes'}]"
    if isinstance(part, Data):
        return data_text(part)
    if isinstance(part, ToolCall):
        return f"[call of {part.name}: {arguments_text(part)}]"
    return as_text([*part.content])


def data_text(part: Data) -> str:
    """A structured value as JSON. What JSON lacks becomes text."""
    return to_json(part.value, fallback=str, inf_nan_mode="constants", bytes_mode="base64").decode()


def arguments_text(call: ToolCall) -> str:
    """A call's arguments as JSON, or as they came."""
    return call.raw if call.raw is not None else json.dumps(call.arguments, default=str)


def call_from(call_id: str | None, name: str, arguments: Any) -> ToolCall:
    """A call from its arguments as JSON text. If that is not an object, `raw` keeps it."""
    if isinstance(arguments, dict):
        return ToolCall(id=call_id, name=name, arguments=cast("dict[str, Any]", arguments))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, default=str)
    try:
        parsed: Any = from_json(text or "{}", allow_inf_nan=True)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        return ToolCall(id=call_id, name=name, raw=text)
    return ToolCall(id=call_id, name=name, arguments=cast("dict[str, Any]", parsed))


def blob_from(url: str, mime: str = "") -> Blob | None:
    """A blob from a URL, or from the bytes in a `data:` URL. None if such a URL can't be read."""
    if not url.startswith("data:"):
        return Blob(mime=mime, url=url)
    head, comma, data = url[5:].partition(",")
    if not comma or not head.endswith(";base64"):
        return None
    return blob_of(data, head.removesuffix(";base64"))


def blob_of(data: Any, mime: str) -> Blob | None:
    """A blob from bytes as base64. None if it is not base64."""
    try:
        return Blob(mime=mime, data=base64.b64decode(data, validate=True))
    except (ValueError, TypeError):
        return None


def data_url(blob: Blob) -> str:
    """A blob's own URL, else a `data:` URL with its bytes."""
    return blob.url if blob.url is not None else f"data:{blob.mime};base64,{base64_of(blob)}"


def base64_of(blob: Blob) -> str:
    """A blob's bytes as base64."""
    return base64.b64encode(blob.data or b"").decode()


def content_of(parts: Sequence[Part], block: Callable[[Any], Any]) -> Any:
    """A message's content: one text as it is, anything else as blocks."""
    if len(parts) < 2 and all(isinstance(part, Text) for part in parts):
        return as_text(parts)
    return [block(part) for part in parts]


def dict_of(value: object) -> dict[str, Any]:
    """Something stored, or said by a framework, if it is a dict. Else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def results_of(message: Message) -> list[ToolResult]:
    """The results in a tool's message. One empty result if there is none."""
    return message.results or [ToolResult()]
