"""Saved states: a CrewAI checkpoint as a transcript, and a transcript for a crew's agents. Needs no CrewAI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....contracts.transcript import Message, Text, Transcript, Work
from ....contracts.transcript_losses import Losses
from ....coordinator.transcripts import Saved
from ...dialects import dict_of
from .messages import OPENAI, to_crewai
from .prompts import plain_prompt


def read_state(saved: Saved, losses: Losses) -> Transcript:
    """For a crew, what was said in its finished tasks. For a flow, its state and its finished methods."""
    native, earlier = dict_of(saved.native), saved.earlier or Transcript()
    own = _flow(saved, native) if "entries" in native else _crew(saved, native, earlier)
    return own.after(earlier)


def write_messages(transcript: Transcript, losses: Losses) -> list[dict[str, Any]]:
    """What a crew's agents are told before their own task. Other agents' instructions are left out."""
    return to_crewai(transcript.messages, losses, system=False)


class Telling:
    """Puts the inherited messages before the first prompt of each task, after the agent's own instructions."""

    def __init__(self, transcript: Transcript) -> None:
        self._told = write_messages(transcript, Losses())
        self._tasks: set[int] = set()

    def tell(self, task: object, messages: list[dict[str, Any]]) -> None:
        """Insert them, once per task: a prompt that CrewAI has summarised has them already."""
        if id(task) in self._tasks:
            return
        self._tasks.add(id(task))
        start = 1 if messages and messages[0].get("role") == "system" else 0
        messages[start:start] = [dict(message) for message in self._told]


def _crew(saved: Saved, native: dict[str, Any], earlier: Transcript) -> Transcript:
    tasks = dict_of(dict_of(saved.state).get("tasks"))
    told = write_messages(earlier, Losses())
    messages: list[Message] = []
    done: list[Work] = []
    for kept in dict_of(native.get("outputs")).values():
        title = kept["task"]
        output = dict_of(tasks.get(title))
        if "raw" not in output:  # a person gave another state in its place
            continue
        messages += _said(kept, output["raw"], told)
        done.append(Work(kind="task", name=title, output=output.get("pydantic") or output.get("json") or output["raw"]))
    return Transcript(messages=messages, completed=done)


def _said(kept: dict[str, Any], raw: str, told: Sequence[dict[str, Any]]) -> list[Message]:
    """One task's messages without the instructions, without what CrewAI said around the task, and without what the
    agent was told before."""
    left = [_kept(fields) for fields in told]
    said: list[Message] = []
    for fields in kept.get("messages") or ():
        if _kept(fields) in left:
            left.remove(_kept(fields))
        elif fields.get("role") == "user" and isinstance(text := fields.get("content"), str):
            said += [OPENAI.read({**fields, "content": plain})] if (plain := plain_prompt(text)) else []
        elif fields.get("role") != "system":
            said.append(OPENAI.read(fields))
    if not said or said[-1].role != "assistant" or said[-1].text.strip() != raw.strip():  # CrewAI strips the output
        said.append(Message(role="assistant", parts=[Text(text=raw)] if raw else []))
    author = kept.get("agent")
    return [m.model_copy(update={"author": author}) if m.role == "assistant" and m.author is None else m for m in said]


def _kept(fields: dict[str, Any]) -> list[Any]:
    """The parts of a message that CrewAI keeps in a task's output."""
    return [fields.get(name) or "" for name in ("role", "content", "tool_calls", "tool_call_id")]


def _flow(saved: Saved, native: dict[str, Any]) -> Transcript:
    done = [Work(kind="method", name=each["method"], output=each.get("result")) for each in native["entries"]]
    asked = [Work(kind="question", name=call) for call in dict_of(native.get("asked"))]
    return Transcript(variables=dict_of(saved.state), completed=done, pending=asked)
