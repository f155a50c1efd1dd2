"""Outcome: how one run of an agent ended, as its adapter reports it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .checkpoint import Snapshot
from .contract import Contract
from .fanout import FanOut
from .handoff import Handoff
from .inbox import AskTerms


@dataclass(slots=True)  # not frozen: one is made with every run
class Finished:
    """The agent is done: its result, and a last snapshot that is committed together with it (None: saved already)."""

    result: Contract | Handoff[Any]
    final: Snapshot | None = None


@dataclass(frozen=True)
class Suspended:
    """The agent waits for a person: what it asks, and a snapshot that is committed with the question.

    `question` is plain values. After `job.answer(value)` the agent runs again, in any process, with the session's
    `answer` set. `terms` says how it is asked.
    """

    question: Any
    final: Snapshot | None = None
    terms: AskTerms = field(default_factory=AskTerms)


@dataclass(frozen=True)
class Rejected:
    """The agent will not do this job, and says why."""

    reason: str


@dataclass(frozen=True)
class FannedOut:
    """The agent waits for children: jobs of their own, and a snapshot that is committed with them.

    `step` is the fan-out's key in this hop. `record` gives what is added to the hop's journal, from its id. When it is
    decided the agent runs again, in any process.
    """

    fan_out: FanOut
    step: str
    record: Callable[[str], Mapping[str, Any]]
    final: Snapshot


@dataclass(frozen=True)
class Asleep:
    """The agent waits for `delay` ms, with a snapshot that is committed with it. Then it runs again, in any process."""

    delay: int
    final: Snapshot


Outcome = Finished | Suspended | Rejected | FannedOut | Asleep
