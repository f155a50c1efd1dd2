"""Edits: what a person may change in a team's messages. Reads what is stored, so it needs no AutoGen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ...contracts.checkpoint import Checkpoint
from ...contracts.errors import BadSetup
from ..dialects import dict_of
from ..edited import a_kind, check_messages
from .folding import Dump

# The types of AutoGen's messages by what their content is.
_TEXTS = {
    "TextMessage",
    "StopMessage",
    "HandoffMessage",
    "ToolCallSummaryMessage",
    "ThoughtEvent",
    "SelectorEvent",
    "CodeGenerationEvent",
    "ModelClientStreamingChunkEvent",
    "UserInputRequestedEvent",
}
_LISTS = {
    "MultiModalMessage",
    "ToolCallRequestEvent",
    "ToolCallExecutionEvent",
    "MemoryQueryEvent",
    "SelectSpeakerEvent",
}
_FIELDS: Mapping[str, type] = {"source": str, "id": str, "metadata": dict, "target": str, "context": list}
_TIME = TypeAdapter(datetime)


def check_form(source: Checkpoint, state: Any) -> None:
    """`BadSetup` if a state is no conversation of a team."""
    if other := sorted(set(dict_of(state)) - {"messages"}):
        named = ", ".join(map(repr, other))
        raise BadSetup(f"the state of a team is its messages: {named} would change nothing, edit state['messages']")
    messages = dict_of(state).get("messages")
    check_messages("messages", messages, ("type", "source", "content"))
    known = {dump["type"] for dump in _messages(source.state)}
    for place, dump in enumerate(_messages(state)):
        if problem := _malformed(dump, known):
            raise BadSetup(f"state['messages'][{place}]: {problem}")


def _malformed(dump: Dump, known: set[str]) -> str:
    """What is wrong with a message. A type of the user's own is not looked into."""
    kind = dump["type"]
    if not isinstance(kind, str):
        return f"type is a str, and would be {a_kind(kind)}"
    if kind not in _TEXTS | _LISTS | known and not kind.startswith("StructuredMessage"):
        return f"there is no type {kind!r} among AutoGen's messages and those of this conversation"
    content = str if kind in _TEXTS else list if kind in _LISTS else object
    for name, form in {**_FIELDS, "content": content}.items():
        if name in dump and not isinstance(dump[name], form):
            return f"{name} of a {kind} is a {form.__name__}, and would be {a_kind(dump[name])}"
    if kind == "HandoffMessage" and "target" not in dump:
        return "a HandoffMessage has a target, and this one would have none"
    try:
        _TIME.validate_python(dump.get("created_at", 0))
    except ValidationError:
        return f"created_at is a time, and would be {dump['created_at']!r}"
    return ""


def check_resumed(source: Checkpoint, state: Any) -> None:
    """`BadSetup` if the members could not continue. They refer to what they have read by its place and number."""
    if problem := _moved(_messages(source.state), _messages(state)):
        raise BadSetup(
            f"the members of a team have read its messages one by one, so an edit can't change their order, and "
            f"{problem}: change what a message says, add messages at the end (they are read next), go back to before "
            "one (batonpass rollback), or begin with the conversation as you edit it: "
            f"batonpass fork {source.id} --agent {source.agent} ..."
        )


def _moved(before: Sequence[Dump], after: Sequence[Dump]) -> str:
    """What is not where it was, or could not be read after all the others."""
    if len(after) < len(before):
        return f"it would lack messages[{len(after)}]"
    for place, (old, new) in enumerate(zip(before, after, strict=False)):
        if new.get("id", old.get("id")) != old.get("id"):
            return f"messages[{place}] would be another message"
        if _counted(old) != _counted(new):
            return f"messages[{place}] would be of another type or member"
    ids = {old.get("id") for old in before} - {None}
    for place, new in enumerate(after[len(before) :], len(before)):
        if new.get("id") in ids:
            return f"messages[{place}] would be there twice"
        if new["type"].endswith("Event"):
            return f"messages[{place}] would be a {new['type']}, which nobody reads"
    return ""


def _counted(dump: Dump) -> tuple[str, str, int]:
    return dump["type"], dump["source"], len(dump.get("context") or ())


def _messages(state: Any) -> list[Dump]:
    return [*dict_of(state).get("messages", ())]
