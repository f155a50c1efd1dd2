"""Handoff: the typed transfer of a job to another agent, and the envelope in which a payload travels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from typing_extensions import TypeVar

from .contract import Contract, ContractRef
from .errors import BadSetup
from .guard import DEFAULT, NOTHING, Guard, Spent
from .nothing import nothing

P = TypeVar("P", bound=Contract, default=Any)


@dataclass(frozen=True)
class Handoff(Generic[P]):
    """What an agent returns to hand its job to another agent, with a payload.

    With `transcript`, the receiver continues this agent's conversation, in its own framework's format.
    """

    to: str
    payload: P
    transcript: bool = False

    def __post_init__(self) -> None:
        to: Any = self.to
        if not isinstance(to, str):
            raise BadSetup(f"Handoff(to=) takes the agent's name, here {getattr(to, 'name', to)!r}")


@dataclass(kw_only=True, slots=True)  # not frozen: one is made with every delivery
class Envelope:
    """What is delivered to an agent: the payload's bytes, its contract, and where it came from.

    `path` lists the agents that the job visited, the receiver last. `sender` is None for a submitted job. `checkpoint`
    is the sender's last checkpoint. `trace` carries the W3C trace context. `transcript` is the conversation
    to continue (`Transcript.dump`), or None to start fresh. `guard` limits the whole chain, `spent` is what its earlier
    hops used, and `born` what was used when the job was made, if it is a child. Then its effects' keys begin with
    `effects`, which stays the same if the child is made again, and otherwise with the job's id.
    """

    contract: ContractRef
    payload: bytes
    path: tuple[str, ...]
    sender: str | None = None
    checkpoint: str | None = None
    trace: Mapping[str, str] = field(default_factory=nothing)
    transcript: Mapping[str, Any] | None = None
    guard: Guard = DEFAULT
    spent: Spent = NOTHING
    born: Spent = NOTHING
    effects: str = ""


@dataclass(frozen=True)
class Answer:
    """A person's answer to a suspended job's question, or its default if nobody answered."""

    question: Any
    value: Any
    is_default: bool = False
