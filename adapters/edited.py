"""Edited: what a person's edit of a conversation must leave in place. Needs no framework."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..contracts.errors import BadSetup


def check_messages(name: str, value: Any, fields: Sequence[str]) -> None:
    """`BadSetup` if a value of a state is not a list of messages as dicts with these fields."""
    place = f"state[{name!r}]"
    if not isinstance(value, list):
        raise BadSetup(f"{place} is a list of messages, and would be {a_kind(value)}: {_hint(name)}")
    for number, message in enumerate(_items(value)):
        about = f"{place}[{number}] is a message, a dict with {', '.join(fields)}, and would"
        if not isinstance(message, dict):
            raise BadSetup(f"{about} be {a_kind(message)}: {_hint(name)}")
        if missing := [field for field in fields if field not in message]:
            raise BadSetup(f"{about} have no {', '.join(missing)}: {_hint(name)}")


def _items(value: Any) -> list[Any]:
    """A list's items, without the unknown type arguments to which a checker has narrowed it."""
    return [*value]


def _hint(name: str) -> str:
    return f"change a part of one, e.g. {name}[0].content, or give the whole list as the checkpoint shows it"


def a_kind(value: object) -> str:
    """The type of a value, with its article."""
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
