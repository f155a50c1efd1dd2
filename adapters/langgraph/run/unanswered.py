"""Unanswered: tool calls at the end of a conversation whose run was stopped before they had results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.types import Command
from pydantic import BaseModel

from ..serde.allowlist import is_a
from ..serde.values import Values

_NOTE = "This call was stopped. Whether it had an effect is not known."


def closed(entered: Any, before: Mapping[str, Any]) -> Any:
    """A graph's input that first answers what was left open: no model accepts a conversation in which a call has no
    result. `before` is the state to which the input is added."""
    answers = _answers(before.get("messages"))
    return _after(answers, entered) if answers else entered


def _after(answers: list[ToolMessage], entered: Any) -> Any:
    """The input, with the answers before its messages."""
    if is_a(entered, Command):
        command: Any = entered
        return replace(command, update=_after(answers, command.update or {}))
    if isinstance(entered, dict):
        given = cast("dict[str, Any]", entered)
        return {**given, "messages": [*answers, *_listed(given.get("messages", []))]}
    messages = [*answers, *_listed(getattr(entered, "messages", []))]
    if isinstance(entered, BaseModel):
        return entered.model_copy(update={"messages": messages})
    if is_dataclass(entered) and not isinstance(entered, type):
        return replace(entered, messages=messages)
    return entered


def _listed(news: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", news) if isinstance(news, list) else [news]


def closed_part(record: dict[str, Any], values: Values) -> dict[str, Any]:
    """The journal's record of a part of the graph that keeps its state, in which its calls are answered."""
    frame = record["frame"]
    sealed = frame["kept"].get("messages")
    messages: Any = None if sealed is None else values.open(sealed)
    answers = _answers(messages)
    if not answers:
        return record
    kept = {**frame["kept"], "messages": values.seal([*messages, *answers], "state['messages']")}
    return {**record, "frame": {**frame, "kept": kept}}


def _answers(messages: Any) -> list[ToolMessage]:
    """Results for the calls at the end of a conversation that have none."""
    answered = set[str]()
    for message in reversed(cast("list[AnyMessage]", messages) if isinstance(messages, list) else []):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            calls = [call for call in message.tool_calls if call["id"] and call["id"] not in answered]
            return [ToolMessage(_NOTE, tool_call_id=call["id"], name=call["name"], status="error") for call in calls]
        else:
            break
    return []
