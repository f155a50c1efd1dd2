"""Questions: what a job asks, and the form that answers it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from batonpass.contracts.inbox import InboxItem
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.schemas import example_of, fits

from ..refusing import Problem
from .fields import Field, example, fields, filled, several
from .words import Shown, in_json, shown, span

PAGE = 20  # each has a form
_MOST_PARTS = 12


@dataclass(frozen=True)
class Typed:
    """What was typed into a form of a job, and why it was refused."""

    form: str
    values: Mapping[str, str]
    problem: Problem


@dataclass(frozen=True)
class Asking:
    """A question with its form. `parts` are its values by name, if they are not nested. `brief` is the question in one
    line. `text` and `json` are what was typed if there are no fields, and `problem` is why it was refused. `choices`
    are whole answers. `begun` are choices that need more than their word, with answers that begin them. `example` is an
    answer."""

    item: InboxItem
    asks: Shown
    parts: tuple[tuple[str, Shown], ...]
    brief: str
    inputs: tuple[Field, ...]
    schema: Shown | None
    text: str
    json: str
    choices: tuple[tuple[str, str], ...]
    begun: tuple[tuple[str, str], ...]
    example: str
    after: str
    problem: Problem | None = None


@dataclass(frozen=True)
class InboxPage:
    """A page of open questions. `after` leads to the next one."""

    asked: tuple[Asking, ...]
    assignee: str
    after: str | None


async def inbox(coordinator: Coordinator, assignee: str, after: str | None) -> InboxPage:
    """Open questions, those that have waited longest first."""
    found = await coordinator.inbox(assignee=assignee or None, limit=PAGE + 1, after=after or None)
    more = found[PAGE - 1].id if len(found) > PAGE else None
    return InboxPage(tuple(map(asking, found[:PAGE])), assignee, more)


def asking(item: InboxItem, typed: Typed | None = None) -> Asking:
    """A question, with what was typed and why it was refused."""
    given: Mapping[str, str] = typed.values if typed else {}
    parts = _parts(item.question)
    return Asking(
        item,
        shown(item.question),
        parts,
        shown(" · ".join(each.brief for _, each in parts) or item.question).brief,
        filled(several(item.schema, item.question) or fields(item.schema), given),
        shown(item.schema) if item.schema is not None else None,
        given.get("text", ""),
        given.get("json", ""),
        tuple((in_json(option), _name(option)) for option in item.options if _whole(item, option)),
        tuple(_begun(item)),
        example(item.schema),
        _after(item),
        typed.problem if typed else None,
    )


def _name(option: Any) -> str:
    return option if isinstance(option, str) else in_json(option)


def _whole(item: InboxItem, option: Any) -> bool:
    """Whether an option is an answer as it is. A framework's may need more, e.g. the arguments that are edited."""
    return item.schema is None or fits(item.schema, option)


def _begun(item: InboxItem) -> Iterator[tuple[str, str]]:
    for option in item.options:
        begins = None if _whole(item, option) else example_of(item.schema, option)
        if begins is not None:
            yield _name(option), in_json(begins)


def _parts(question: Any) -> tuple[tuple[str, Shown], ...]:
    if not isinstance(question, dict):
        return ()
    values = cast("dict[object, object]", question)
    if len(values) > _MOST_PARTS or not all(isinstance(value, str | int | float) for value in values.values()):
        return ()
    return tuple((str(name), shown(value)) for name, value in values.items())


def _after(item: InboxItem) -> str:
    """What happens when nobody answers in time."""
    if item.due_at is None:
        return ""
    if item.escalation:
        name, seconds = item.escalation[0]
        return f"then {name} is asked, for {span(seconds)}"
    return (
        f"then the answer is {shown(item.default).brief}" if item.has_default else "then it goes on without an answer"
    )
