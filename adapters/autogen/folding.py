"""Folding: a team's state without what its messages already say.

Every member keeps its own copy of the conversation: in its model's context, and as whole messages that it has not read
yet. In a checkpoint these copies become references to the thread. So a checkpoint holds the conversation about once,
and a turn's checkpoint does not grow with the turns before.

A reference is a tuple: ("message", place), ("content", place) for a long text or pictures, ("heard", member, pieces)
for the messages of a context, or ("agent", count, places) for the state of a member that has heard `count` messages and
not yet read those at `places`. A real tuple becomes ("tuple", *items).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Dump = Mapping[str, Any]
SHORT = 64  # characters: a reference is not much shorter
_SAID = frozenset({"TextMessage", "StopMessage", "HandoffMessage", "ToolCallSummaryMessage"})
_AHEAD = 64  # how many messages a context may skip before what follows is no longer recognized


def fold(value: Any, thread: list[Dump]) -> Any:
    """A copy of plain values, with references in place of what the thread holds."""
    places = {dump["id"]: place for place, dump in enumerate(thread)}
    texts = {text: places[dump["id"]] for dump in thread if isinstance(text := dump.get("content"), str)}
    pictures = [dump for dump in thread if dump["type"] == "MultiModalMessage"]

    def folded(value: Any, key: str = "") -> Any:
        if key == "content" and _is(value, str) and len(value) > SHORT and value in texts:
            return ("content", texts[value])
        if key == "content" and _is(value, list) and (same := [each for each in pictures if each["content"] == value]):
            return ("content", places[same[-1]["id"]])
        if _is(value, tuple):
            return ("tuple", *map(folded, value))
        if key and (agent := _agent(key, value, thread, places)):
            return agent
        if key == "messages" and _is(value, list) and all(map(_for_model, value)):
            member = next((item["source"] for item in value if item["type"] == "AssistantMessage"), "")
            return ("heard", member, _pieces(value, heard(member, thread), folded))
        if _is(value, dict) and isinstance(identity := value.get("id"), str) and identity in places:
            place = places[identity]
            if thread[place] == value:
                return ("message", place)
        return _rebuilt(value, folded)

    return folded(value)


def unfold(value: Any, thread: list[Dump]) -> Any:
    """The opposite of `fold`. LookupError if the thread lacks a message."""

    def unfolded(value: Any, key: str = "") -> Any:
        if not _is(value, tuple):
            return _rebuilt(value, unfolded)
        kind: str = value[0]
        about: list[Any] = list(value[1:])
        if kind == "tuple":
            return tuple(map(unfolded, about))
        if kind == "agent":
            known = _messages([0, about[0]], heard(key, thread), unfolded)
            return _state(known, [thread[place] for place in about[1]])
        if kind == "heard":
            member, pieces = about
            known = heard(member, thread)
            return [item for piece in pieces for item in _messages(piece, known, unfolded)]
        place: int = about[0]
        message = thread[place]
        return message if kind == "message" else message["content"]

    return unfolded(value)


def _state(messages: list[Any], unread: list[Any]) -> dict[str, Any]:
    """The state of an `AssistantAgent` in a team, as AutoGen 0.7 saves it."""
    agent = {"type": "AssistantAgentState", "version": "1.0.0", "llm_context": {"messages": messages}}
    return {"type": "ChatAgentContainerState", "version": "1.0.0", "agent_state": agent, "message_buffer": unread}


def _agent(name: str, value: Any, thread: list[Dump], places: Mapping[str, int]) -> tuple[Any, ...] | None:
    """The shortest form of a member's state, if the thread has all of it."""
    if not _is(value, dict) or value.get("type") != "ChatAgentContainerState":
        return None
    try:
        messages, unread = value["agent_state"]["llm_context"]["messages"], value["message_buffer"]
        buffer = [places[message["id"]] for message in unread]
        known = heard(name, thread)[: len(messages)]
    except (LookupError, TypeError):
        return None
    same = _state(known, [thread[place] for place in buffer]) == value
    return ("agent", len(messages), buffer) if same else None


def heard(member: str, thread: list[Dump]) -> list[dict[str, Any]]:
    """What an `AssistantAgent`'s context usually holds of a thread: what it said and did, and what others said.

    Checkpoints refer to places in this list, so a change to it needs another format.
    """
    found: list[dict[str, Any]] = []
    thought: str | None = None
    for dump in thread:
        kind, source, content = dump["type"], dump["source"], dump.get("content")
        said = kind in _SAID or kind.startswith("StructuredMessage")
        if said and _is(content, dict):
            content = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
        if source != member:
            if said:
                found += dump.get("context") or []
                found.append({"content": content, "source": source, "type": "UserMessage"})
        elif kind == "ThoughtEvent":
            thought = content
        elif kind == "ToolCallExecutionEvent":
            found.append({"content": content, "type": "FunctionExecutionResultMessage"})
        elif kind in ("TextMessage", "ToolCallRequestEvent") or kind.startswith("StructuredMessage"):
            found.append({"content": content, "thought": thought, "source": member, "type": "AssistantMessage"})
            thought = None
    return found


def _pieces(items: list[Any], known: list[dict[str, Any]], folded: Callable[[Any], Any]) -> list[Any]:
    """A context as pieces: [place, count] for messages that are known, and all other messages as they are."""
    pieces: list[Any] = []
    at = 0
    for item in items:
        place = next((place for place in range(at, min(at + _AHEAD, len(known))) if known[place] == item), None)
        if place is None:
            pieces.append(folded(item))
            continue
        if pieces and _is(pieces[-1], list) and place == at:
            pieces[-1][1] += 1
        else:
            pieces.append([place, 1])
        at = place + 1
    return pieces


def _messages(piece: Any, known: list[dict[str, Any]], unfolded: Callable[[Any], Any]) -> list[Any]:
    if not _is(piece, list):
        return [unfolded(piece)]
    place, count = piece
    if place + count > len(known):
        raise IndexError(f"message {place + count} of a context is not in the thread")
    return known[place : place + count]


def _for_model(item: Any) -> bool:
    return _is(item, dict) and "type" in item and ("source" in item or item["type"] != "AssistantMessage")


def _rebuilt(value: Any, change: Callable[[Any, str], Any]) -> Any:
    """A new dict or list of changed items. Other values as they are."""
    if _is(value, dict):
        return {name: change(item, name) for name, item in value.items()}
    return [change(item, "") for item in value] if _is(value, list) else value


def _is(value: object, kind: type[Any]) -> bool:
    return type(value) is kind
