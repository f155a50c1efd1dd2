"""Saved states: an AutoGen checkpoint as a transcript. Reads what is stored, so it needs no AutoGen."""

from __future__ import annotations

from typing import Any

from ....contracts.transcript import (
    Data,
    Message,
    Native,
    Part,
    Role,
    Text,
    Thought,
    Transcript,
    Usage,
    Work,
)
from ....contracts.transcript_losses import Losses
from ....coordinator.transcripts import Saved
from ...dialects import Fields, call_from, dict_of
from .messages import picture_or_text, result_from

_SPOKEN = ("TextMessage", "StopMessage", "HandoffMessage", "ToolCallSummaryMessage", "CodeGenerationEvent")
_READ = frozenset({"type", "id", "source", "content", "models_usage"})


def read_state(saved: Saved, losses: Losses) -> Transcript:
    """The team's thread, and who spoke. Events of AutoGen's own workings are counted as lost."""
    native = dict_of(saved.native)
    dumps = dict_of(saved.state).get("messages", [])
    if saved.earlier is not None:
        dumps = dumps[native.get("since", 0) :]  # earlier visits are in the conversation that the job brought along
    messages: list[Message] = []
    for at, dump in enumerate(dumps):
        message = read_dump(dump)
        if message is None:
            losses.add(f"autogen {dump['type']}", f"messages[{at}]")
        elif at and _is_thought_of(dumps[at - 1], message):  # they were one message of the model's
            messages[-1] = message.model_copy(update={"parts": [*messages[-1].parts, *message.parts]})
        else:
            messages.append(message)
    spoke = [dump["source"] for dump in dumps if dump["type"].partition("[")[0].endswith("Message")]
    asks = dict_of(native.get("asks"))
    pending = [Work(kind="question", name=asks["question"]["to"])] if asks else []
    if native.get("stop") is None and not asks:
        pending = [Work(kind="turn", name="next")]
    own = Transcript(
        messages=messages,
        completed=[Work(kind="turn", name=source) for source in spoke if source != "user"],
        pending=pending,
    )
    return own.after(saved.earlier)


def read_dump(dump: Fields) -> Message | None:
    """One message of a team's thread, as AutoGen dumps it. None for an event that is no part of the conversation."""
    kind = str(dump["type"]).partition("[")[0]
    role: Role = "user" if dump["source"] == "user" else "assistant"
    parts = _parts(kind, dump["content"] if "content" in dump else dump.get("result"))
    if parts is None:
        return None
    if kind == "ToolCallExecutionEvent":
        role = "tool"
    elif kind in ("ToolCallRequestEvent", "ThoughtEvent"):
        role = "assistant"
    usage = dict_of(dump.get("models_usage"))
    return Message(
        role=role,
        author=dump["source"],
        id=dump.get("id"),
        parts=parts,
        usage=Usage(input=usage["prompt_tokens"], output=usage["completion_tokens"]) if usage else None,
        native={"autogen chat": Native(form={"type": dump["type"]}, more=_more(dump))},
    )


def _is_thought_of(dump: Fields, message: Message) -> bool:
    return (dump["type"], dump["source"], message.role) == ("ThoughtEvent", message.author, "assistant")


def _more(dump: Fields) -> dict[str, Any]:
    return {name: value for name, value in dump.items() if name not in _READ and value not in (None, {}, [])}


def _parts(kind: str, content: Any) -> list[Part] | None:
    if kind in _SPOKEN:
        return [Text(text=content)] if content else []
    if kind == "MultiModalMessage":
        return [picture_or_text(piece) for piece in content]
    if kind == "ToolCallRequestEvent":
        return [call_from(call["id"], call["name"], call["arguments"]) for call in content]
    if kind == "ToolCallExecutionEvent":
        return [result_from(each) for each in content]
    if kind == "ThoughtEvent":
        return [Thought(text=content)]
    return [Data(value=content)] if kind in ("StructuredMessage", "CodeExecutionEvent") else None
