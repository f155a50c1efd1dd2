"""Inbox: the questions that jobs ask people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .contract import Contract, ContractRef
from .duration import Duration
from .jsonable import jsonable


class _Missing:
    """No value: None is one that a question may have as its default."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()


@dataclass(frozen=True, kw_only=True)
class AskTerms:
    """How a question is asked: what may answer it, who is asked, and what happens if nobody answers. Times are in ms.

    After `timeout` (0: never), the people in `escalation` are asked one after the other, each for a time. Then the job
    continues with `default`, or without an answer. `schema` is the answer's JSON Schema if it has no contract. `error`
    says what was wrong with an earlier answer.
    """

    answer: type[Contract] | None = None
    schema: Mapping[str, Any] | None = None
    options: tuple[Any, ...] = ()
    assignee: str = ""
    timeout: int = 0
    escalation: tuple[tuple[str, int], ...] = ()
    default: Any = MISSING
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class Asks:
    """How a framework's agent asks its questions, like the options of `ctx.ask` in a plain function.

    `assignee` is asked first. After `timeout` (seconds or a timedelta), those in `escalate` are asked: a name, for the
    same time, or pairs of a name and a time. After the last one, `default` is the answer. Without a default the job
    becomes a dead letter ("unanswered"), and asks again when redriven.
    """

    timeout: Duration | None = None
    default: Any = MISSING
    assignee: str | None = None
    escalate: str | Sequence[tuple[str, Duration]] | None = None


@dataclass(frozen=True, kw_only=True)
class InboxItem:
    """A question that waits for a person.

    - `id` names this question of the `job`. An answer that gives it is refused once the job asks something else.
    - `kind` is the asking agent's framework.
    - `answer` is the answer's contract, if it has one, and `schema` its JSON Schema. If None, any answer is valid.
    - `options` are choices that the framework offers.
    - At `due_at` (None: never) the next of `escalation` is asked (pairs of an assignee and seconds). After the last
      one, the job continues with `default`, or without an answer if there is none (`has_default`).
    - `error` says why the previous answer was refused.
    - `unreadable` means that the question is damaged, or encrypted with a key that this client lacks. Its content is
      left out.
    """

    id: str
    job: str
    agent: str
    hop: int
    thread: str
    kind: str
    question: Any
    answer: ContractRef | None
    schema: Mapping[str, Any] | None
    options: tuple[Any, ...]
    assignee: str | None
    asked_at: datetime
    due_at: datetime | None
    escalation: tuple[tuple[str, float], ...]
    has_default: bool
    default: Any
    error: str | None
    unreadable: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Its values for JSON, with times as text."""
        return jsonable({**vars(self), "answer": str(self.answer) if self.answer else None})
