"""Inbox: calls about what jobs ask people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

from ...contracts.agent import Agent
from ...contracts.contract import Contract, contract_ref, convert, dump_payload, load_mapping
from ...contracts.errors import BadSetup, ContractViolation, NotFound, WrongState
from ...contracts.inbox import InboxItem
from ...contracts.job import JobState
from ...contracts.names import is_id
from ..blobs import seal_blob
from ..book import Book
from ..commands import AnswerJob, Inbox
from ..questions import item, question_of, stored_terms
from ..refusals import refusal
from ..rows import JobRow
from ..schemas import example_of, fit_schema
from . import Call
from .inputs import count, identifier, name_wanted, text
from .jobs import checked, look

_PAGE = 200
_LONGEST_NAME = 200  # characters of who answers
_LONGEST = 2000  # characters of an example in an error: the arguments in it may be a whole file


def page(
    assignee: str | None, agent: str | Agent[Any] | None, limit: int, after: str | None, job: str | None
) -> Call[list[InboxItem]]:
    """Open questions, oldest first, optionally of one assignee or agent; or the one of a job."""
    whose = name_wanted(agent)
    count(limit, "limit")
    if job is not None:
        if (assignee, whose, after) != (None, None, None):
            raise BadSetup("job= finds the question of one job: give no other filter")
        one = yield from asked(checked(job))
        return [one] if one else []
    found: list[InboxItem] = []
    after_id, since = named(after) if after else ("", 0)
    while len(found) < limit:
        rows: list[JobRow] = yield Inbox(_PAGE, since, after_id)
        found += [item(row) for row in rows if assignee in (None, row.assignee) and whose in (None, row.agent)]
        if len(rows) < _PAGE:
            break
        after_id, since = rows[-1].id, rows[-1].asked
    return found[:limit]


def asked(job_id: str) -> Call[InboxItem | None]:
    """A job's question. None if it asks nothing now."""
    row = yield from look(job_id)
    return item(row) if row.state == JobState.INPUT_REQUIRED else None


def answer(book: Book, of: str, value: Any, question: str | None = None, by: str = "") -> Call[None]:
    """Answer a question, named by its id or its job's, with a value that fits its contract."""
    if len(text(by, "by")) > _LONGEST_NAME:
        raise BadSetup(f"by= has {len(by)} characters, but at most {_LONGEST_NAME} are kept: give a name")
    job_id, asked = named(of)
    if question is not None:
        about, asked = named(question)
        if about != job_id:
            raise WrongState(f"job {job_id} never asked {question}: that question belongs to another job")
    row = yield from look(job_id)
    plain = plain_answer(value)
    if row.state == JobState.INPUT_REQUIRED and asked in (0, row.asked):
        _check(book, row, value, plain)
    elif not row.asked:
        raise refusal("not_asking", job_id, row.state)
    asked = asked or row.asked  # no other one that it asks by the time that this arrives
    try:
        yield AnswerJob(job_id, seal_blob(plain, path="answer"), asked, by)
    except WrongState as refused:
        row = yield from look(job_id)
        if row.state != JobState.INPUT_REQUIRED:
            raise
        raise WrongState(f"{refused}: {question_of(row)!r}") from None


def named(text: str) -> tuple[str, int]:
    """A question's id as the job's id and when it asked. A job's id alone has no such time (0)."""
    identifier(text, "job")
    job_id, dot, asked = text.partition(".")
    if not is_id(job_id, "j") or (dot and not (asked.isascii() and asked.isdigit() and len(asked) < 19)):
        raise NotFound(f"{text!r} is neither a question's id nor a job's: the inbox lists open questions")
    return job_id, int(asked or 0)


def plain_answer(value: Any) -> Any:
    """An answer as stored: a contract becomes a mapping."""
    if not isinstance(value, Contract):
        return value
    return dict(load_mapping(contract_ref(type(value)), dump_payload(value)))


def _fit(what: str, schema: Mapping[str, Any], plain: Any) -> None:
    """Refuse an answer that the schema does not take. Who gave a word that needs more is shown the rest."""
    try:
        fit_schema(what, schema, plain)
    except ContractViolation as error:
        example = example_of(schema, plain) if isinstance(plain, str) else None
        if example is None:
            raise
        told = to_json(example, bytes_mode="base64", inf_nan_mode="constants").decode()
        shown = told if len(told) <= _LONGEST else "see examples in the question's schema"
        raise ContractViolation(f"{error}. A whole answer for {plain!r}: {shown}", fields=error.fields) from None


def _check(book: Book, row: JobRow, value: Any, plain: Any) -> None:
    """Refuse an answer that the asking agent would not accept."""
    about = stored_terms(row)
    ref = about.answer
    if about.schema is None:
        return
    if ref is None:
        _fit(f"answer to {row.id}.{row.asked}", about.schema, plain)
        return
    own: type[Contract] | None = value.__class__ if isinstance(value, Contract) else None
    given = contract_ref(own) if own else ref
    if given.name != ref.name:
        raise ContractViolation(f"job {row.id} asks for {ref}, not {given}", fields=["(contract)"])
    contract = own if own and given == ref else book.contract(ref)
    if contract is not None:
        convert(contract, plain)
    else:
        fit_schema(ref, about.schema, plain)
