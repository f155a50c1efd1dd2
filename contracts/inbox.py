"""Inbox: what jobs ask of people."""

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
    """How a question is asked: what answers it, who is asked, and what happens if nobody answers. Times are in ms.

    After `timeout` (0: never) those in `escalation` are asked, one after the other, each for a time. Then the job goes
    on with `default`, or with no answer. `schema` is the JSON Schema of the answer where there is no contract of it.
    `error` says what was wrong with an answer that was given before.
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
    """How the questions of a framework's agent are asked, as `ctx.ask` says it for each of a plain function's.

    When `timeout` (seconds or a timedelta) is over those in `escalate` are asked: a name, for as long again, or pairs
    of a name and a time. After the last one `default` is the answer; without one the job is a dead letter,
    "unanswered", and asks again when it is redriven. `assignee` is who is asked first.
    """

    timeout: Duration | None = None
    default: Any = MISSING
    assignee: str | None = None
    escalate: str | Sequence[tuple[str, Duration]] | None = None


@dataclass(frozen=True, kw_only=True)
class InboxItem:
    """A question that waits for a person.

    `id` names this question of the `job`: an answer that gives it is refused once the job asks something else. `kind`
    is the asking agent's framework. `answer` is the contract of the answer, if it has one, `schema` its JSON Schema;
    None: anything may be answered. `options` are choices that the framework offers. At `due_at` (None: never) the next
    of `escalation`, pairs of an assignee and seconds, is asked; after the last one the job goes on with the `default`,
    or, if there is none (`has_default`), without an answer. `error` says why the answer before was not accepted. One
    that is `unreadable` is damaged, or needs a key that is not here: what it asks is left out.
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
        """Its values as JSON has them: times are text."""
        return jsonable({**vars(self), "answer": str(self.answer) if self.answer else None})
