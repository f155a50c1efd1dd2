"""Questions as stored with a job, and what else is stored about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..contracts.contract import ContractRef, contract_ref
from ..contracts.errors import Corrupted
from ..contracts.inbox import MISSING, AskTerms, InboxItem
from ..contracts.lean import dataclass
from ..contracts.understood import understood
from .blobs import open_blob, seal_blob
from .book import parse_ref
from .coded.codec import MissingKey
from .commands import Fence, NewCheckpoint, Suspend
from .rows import JobRow
from .snapshots import from_ms

# What CrewAI's adapter puts into a question, to know it again when it is answered. People are not shown it. It stays in
# what is stored, because workers of the release before look for it there.
_CREWAI_CALL = "call"


@dataclass(frozen=True)
class StoredTerms:
    """What is stored about a question besides the question itself."""

    kind: str = ""
    answer: ContractRef | None = None
    schema: Mapping[str, Any] | None = None
    options: tuple[Any, ...] = ()
    error: str = ""


def suspending(fence: Fence, question: Any, terms: AskTerms, kind: str, last: NewCheckpoint | None) -> Suspend:
    """The command that asks."""
    ref = contract_ref(terms.answer) if terms.answer else None
    schema = terms.answer.model_json_schema() if terms.answer else terms.schema
    about = [kind, str(ref) if ref else "", dict(schema) if schema else None, list(terms.options), terms.error]
    return Suspend(
        fence,
        seal_blob(question, path="question"),
        last,
        terms=seal_blob(about, path="question"),
        assignee=terms.assignee,
        timeout=terms.timeout,
        otherwise=b"" if terms.default is MISSING else seal_blob(terms.default, path="default"),
        escalation="\n".join(f"{wait} {name}" for name, wait in terms.escalation),
        again=bool(terms.error),
    )


@understood("the terms of the question of job {0.id}")
def stored_terms(row: JobRow) -> StoredTerms:
    """What is stored about a job's question besides the question itself."""
    if not row.terms:
        return StoredTerms()
    kind, ref, schema, options, error = open_blob(row.terms, of=f"the terms of job {row.id}")
    return StoredTerms(kind, parse_ref(ref) if ref else None, schema, tuple(options), error)


def item(row: JobRow) -> InboxItem:
    """A job's question. Parts that can't be read are left out and named, so that a list can't fail because of one."""
    try:
        about, question, default, unreadable = *_told(row), False
    except (Corrupted, MissingKey):
        about, question, default, unreadable = StoredTerms(), None, None, True
    later = (line.partition(" ") for line in row.escalation.split("\n")[row.escalated :] if line)
    return InboxItem(
        id=f"{row.id}.{row.asked}",
        job=row.id,
        agent=row.agent,
        hop=row.hop,
        thread=row.thread,
        kind=about.kind,
        question=question,
        answer=about.answer,
        schema=about.schema,
        options=about.options,
        assignee=row.assignee or None,
        asked_at=from_ms(row.asked),
        due_at=from_ms(row.due) if row.due else None,
        escalation=tuple((name, int(wait) / 1000) for wait, _, name in later),
        has_default=bool(row.otherwise),
        default=default,
        error=about.error or None,
        unreadable=unreadable,
    )


@understood("the question of job {0.id}")
def _told(row: JobRow) -> tuple[StoredTerms, Any, Any]:
    """The terms, the question, and the default answer, as stored."""
    default = open_blob(row.otherwise, of=f"the default answer to job {row.id}") if row.otherwise else None
    return stored_terms(row), question_of(row), default


def question_of(row: JobRow) -> Any:
    """What a job asks, as people are shown it."""
    question: Any = open_blob(row.question, of=f"the question of job {row.id}")
    asked = question
    if isinstance(asked, dict) and _CREWAI_CALL in asked and stored_terms(row).kind == "crewai":
        return {name: value for name, value in question.items() if name != _CREWAI_CALL}
    return question
