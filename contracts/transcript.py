"""Transcript: a conversation with its state, independent of any framework, for moving a job between frameworks."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, cast

from pydantic import Field, model_validator

from .transcript_parts import Blob, Data, Part, Portable, Text, Thought, ToolCall, ToolResult
from .understood import understood

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Plain: TypeAlias = dict[str, Any]


class Usage(Portable):
    """Tokens that a model read and wrote."""

    input: int = 0
    output: int = 0


class Native(Portable):
    """A framework's own version of a message.

    `form` is how the framework writes the message, if that is not its usual form. It counts as long as it says the same
    as the message. `more` holds what the message can't express.
    """

    form: Plain = Field(default_factory=Plain)
    without: list[str] = Field(default_factory=list[str])
    more: Plain = Field(default_factory=Plain)


class Message(Portable):
    """One message of the conversation.

    An assistant's message may hold several calls, which run in parallel. A tool's message holds one or several results.
    `native` is keyed by framework, and other frameworks ignore it.
    """

    role: Role
    parts: list[Part] = Field(default_factory=list[Part])
    author: str | None = None
    id: str | None = None
    usage: Usage | None = None
    native: dict[str, Native] = Field(default_factory=dict[str, Native])

    @model_validator(mode="after")
    def _parts_fit_the_role(self) -> Message:
        for part in self.parts:
            if isinstance(part, ToolResult) is not (self.role == "tool"):
                raise ValueError(f"a message of role {self.role!r} has a {part.kind}: results are a tool's alone")
            if isinstance(part, ToolCall | Thought) and self.role != "assistant":
                raise ValueError(f"a message of role {self.role!r} has a {part.kind}: only an assistant's has")
        return self

    @property
    def text(self) -> str:
        """Its text, without thoughts, calls and results."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> list[ToolCall]:
        """The tool calls."""
        return [part for part in self.parts if isinstance(part, ToolCall)]

    @property
    def results(self) -> list[ToolResult]:
        """The tool results."""
        return [part for part in self.parts if isinstance(part, ToolResult)]


class Work(Portable):
    """A piece of work that is done (with its output) or next: a node, task, method, turn, step or question."""

    kind: Literal["node", "task", "method", "turn", "step", "question"]
    name: str
    output: Any = None


class Transcript(Portable):
    """A conversation, and what belongs to it.

    `variables` is the state besides the messages, as plain values. `usage` is what was used beyond what the messages
    say. `framework`, `agent` and `checkpoint` say where it was taken.
    """

    v: Literal[1] = 1
    messages: list[Message] = Field(default_factory=list[Message])
    variables: Plain = Field(default_factory=Plain)
    completed: list[Work] = Field(default_factory=list[Work])
    pending: list[Work] = Field(default_factory=list[Work])
    usage: Usage | None = None
    framework: str = ""
    agent: str = ""
    checkpoint: str = ""

    def dump(self) -> Plain:
        """Plain values, which a checkpoint can hold; what is as by default is left out."""
        return self.model_dump()

    def after(self, earlier: Transcript | None) -> Transcript:
        """This one as what follows on an earlier one."""
        if earlier is None:
            return self
        return self.model_copy(
            update={
                "messages": [*earlier.messages, *self.messages],
                "variables": {**earlier.variables, **self.variables},
                "completed": [*earlier.completed, *self.completed],
                "usage": earlier.usage if self.usage is None else self.usage,
            }
        )

    @staticmethod
    @understood("a stored transcript")
    def load(stored: Any) -> Transcript:
        """The transcript that `dump` told; `Corrupted` for something else."""
        if cast("Plain", stored)["v"] != 1:
            raise ValueError(f"version {stored['v']} of a newer Batonpass")
        return Transcript.model_validate(stored)


__all__ = [
    "Blob",
    "Data",
    "Message",
    "Native",
    "Part",
    "Role",
    "Text",
    "Thought",
    "ToolCall",
    "ToolResult",
    "Transcript",
    "Usage",
    "Work",
]
