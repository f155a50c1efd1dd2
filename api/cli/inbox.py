"""Commands about questions to people: inbox, answer."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from batonpass.contracts.errors import BadSetup
from batonpass.coordinator.calls.inbox import named

from .agents import tell_undeclared
from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened, read_json
from .printing import cell, print_json, print_table, say, shortened, tell_more, tell_unreadable

_LONGEST = 100  # characters of the question that was answered


def inbox(
    assignee: Annotated[str | None, typer.Option(help="Only questions to this person")] = None,
    agent: Annotated[str | None, typer.Option(help="Only questions from this agent")] = None,
    job: Annotated[str | None, typer.Option(help="Only the question of this job")] = None,
    limit: Annotated[int, typer.Option(help="At most this many", min=1)] = 50,
    after: Annotated[str | None, typer.Option(metavar="ID", help="Continue after this question")] = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """List open questions to people, oldest first."""
    with opened(store, namespace) as coordinator:
        wanted = limit if as_json else limit + 1
        found = coordinator.inbox(assignee=assignee, agent=agent, job=job, limit=wanted, after=after)
        tell_undeclared(coordinator, agent, found)
    tell_unreadable("job", [item.job for item in found[:limit] if item.unreadable])
    if as_json:
        print_json([item.as_dict() for item in found])
        return
    rows = [
        (item.id, item.agent, item.assignee, item.asked_at, item.due_at, item.answer, _shown(item.question))
        for item in found[:limit]
    ]
    print_table(("QUESTION", "AGENT", "ASSIGNEE", "ASKED", "DUE", "ANSWER", "ASKS"), rows)
    tell_more(found, limit, "--after")


def answer(
    of: Annotated[str, typer.Argument(metavar="JOB|QUESTION", help="A job's id, or a question's id from the inbox")],
    value: Annotated[
        str | None,
        typer.Argument(metavar="VALUE", help='JSON, or text; text that starts with {, [ or " must be a JSON string'),
    ] = None,
    json_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Read the answer as JSON from a file (-: standard input)")
    ] = None,
    question: Annotated[
        str | None, typer.Option(metavar="ID", help="The question you mean; refused if the job asks another one")
    ] = None,
    by: Annotated[str, typer.Option(metavar="NAME", help="Who answers; kept in the event job.answered")] = "",
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Answer a job's question. Any worker then continues the job."""
    if (value is None) == (json_file is None):
        raise BadSetup("answer takes a value, or --json-file FILE")
    parsed = _read(json_file) if json_file is not None else _parsed(value or "")
    job, asked = named(of)
    with opened(store, namespace) as coordinator:
        meant = question or (of if asked else None)
        item = next((each for each in coordinator.inbox(job=job) if meant in (None, each.id)), None)
        # By the question's id, so that none is answered but the one that is told.
        coordinator.answer(of, parsed, question=question or (item.id if item else None), by=by)
    about = {"agent": item.agent, "question_id": item.id, "question": item.question} if item else {}
    if as_json:
        print_json({"id": job, "answered": parsed, **about})
    else:
        say(f"answered {of}" + (f": {item.agent} asked {shortened(_shown(item.question), _LONGEST)}" if item else ""))


def _parsed(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError as error:
        if not text.lstrip().startswith(("{", "[", '"')):
            return text
        quoted = shlex.quote(json.dumps(text, ensure_ascii=False))
        why = f"begins like JSON, but {error}: mend it, or quote it to give it as text, {quoted}"
        raise BadSetup(f"{text!r} {why}") from None


def _read(file: str) -> Any:
    try:
        return read_json(sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadSetup(f"the answer can't be read: {error}") from None
    except ValueError as error:
        raise BadSetup(f"{file}: the answer is not JSON: {error}") from None


def _shown(question: Any) -> str:
    text = question if isinstance(question, str) else json.dumps(question, default=str, ensure_ascii=False)
    return cell(text)
