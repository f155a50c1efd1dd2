"""Saved states: a LangGraph checkpoint as a transcript. Reads what is stored, so it needs no LangGraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ....contracts.state_types import UnknownValue
from ....contracts.transcript import Message, Transcript, Work
from ....contracts.transcript_loops import whole
from ....contracts.transcript_losses import Losses
from ....coordinator.transcripts import Saved
from ...dialects import dict_of
from .messages import LANGCHAIN

_NEXT = "branch:to:"
_STORED = "langchain_core."


def read_state(saved: Saved, losses: Losses) -> Transcript:
    """The messages channel as messages, the other channels as variables, the nodes that are next, and what is asked.

    The channel also has the conversation that the job had brought along, unless the graph has not seen that yet.
    """
    frame = dict_of(saved.native)
    variables = dict(dict_of(saved.state))
    channel = _messages_channel(variables, frame)
    told = [_told(each) for each in variables.pop(channel)] if channel else []
    for name in variables:
        if name in dict_of(frame.get("kept")):
            losses.add("a value that is not plain", f"state[{name!r}]")
    earlier = saved.earlier or Transcript()
    messages = _with_earlier(told, earlier.messages)
    if channel is None or "untold" in frame:
        known = {message.id for message in earlier.messages if message.id}  # from this graph's earlier visits
        messages = [*earlier.messages, *(message for message in messages if message.id not in known)]
    own = Transcript(
        messages=messages,
        variables=variables,
        completed=[Work(kind="node", name=node) for node in frame.get("ran", ())],
        pending=_pending(frame),
    )
    return own.after(earlier.model_copy(update={"messages": []}))


def _messages_channel(state: Mapping[str, Any], frame: Mapping[str, Any]) -> str | None:
    """The channel that holds the conversation: `messages`, a state that is one value, or the first with messages."""
    names = ["messages", "__root__", *frame.get("messages", ())]
    return next((name for name in names if name in state and _are_messages(state[name])), None)


def _are_messages(value: object) -> bool:
    found = cast("list[object]", value) if isinstance(value, list) else [None]
    return all("type" in dict_of(_told(each)) for each in found)


def _told(value: Any) -> Any:
    """A message as a dict, from a dict, from an object, or from one whose class this process does not have."""
    if isinstance(value, UnknownValue) and value.type_name.startswith(_STORED):
        return {"type": _type_of(value.type_name.removeprefix(_STORED)), **dict_of(value.value)}
    if isinstance(value, dict | UnknownValue) or not hasattr(value, "response_metadata"):
        return cast("Any", value)
    from ..serde.plain import message_as_dict

    return message_as_dict(value)


def _type_of(name: str) -> str:
    """The `type` of messages of a class: AIMessage's is "ai", AIMessageChunk's its own name."""
    return name if name.endswith("Chunk") else name.removesuffix("Message").lower()


def _with_earlier(told: Sequence[dict[str, Any]], earlier: Sequence[Message]) -> list[Message]:
    """The messages. Those that the graph began with are taken as they were then, so that they keep what LangChain can't
    express."""
    given = [(message, LANGCHAIN.write(message, Losses())) for message in whole(earlier, Losses())]
    found: list[Message] = []
    at = 0
    while at < len(told):
        number = next((n for n, (_, written) in enumerate(given) if _same(told[at : at + len(written)], written)), None)
        if number is None:
            found.append(LANGCHAIN.read(told[at]))
            at += 1
            continue
        message, written = given[number]
        found.append(message)
        at += len(written)
        given = given[number + 1 :]
    return found


def _same(told: Sequence[dict[str, Any]], written: Sequence[dict[str, Any]]) -> bool:
    """Whether these are the same messages. (LangGraph gives an id to a message that has none.)"""
    return bool(written) and [
        {name: value for name, value in each.items() if name != "id" or "id" in as_given}
        for each, as_given in zip(told, written, strict=False)
    ] == list(written)


def _pending(frame: Mapping[str, Any]) -> list[Work]:
    nodes = [name.removeprefix(_NEXT) for name in dict_of(frame.get("kept")) if name.startswith(_NEXT)]
    asked = [Work(kind="question", name=name) for name in frame.get("asked", ())]
    return [*(Work(kind="node", name=name) for name in nodes), *asked]
