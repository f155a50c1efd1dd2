"""Raised: looks at an error of anybody's code, which may do anything when it is looked at."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import cast

# How many errors of one chain of causes are looked at. (A framework may make it long.)
_CHAIN = 50


def chain(error: BaseException, *, context: bool = False) -> Iterator[BaseException]:
    """An error, its causes, and the members of groups, each once. An error without a cause has the `context` in which
    it was raised instead, if that counts: in CrewAI it is often an unrelated error."""
    left, seen = [error], set[int]()
    while left and len(seen) < _CHAIN:
        each = left.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, BaseExceptionGroup):
            left.extend(cast("BaseExceptionGroup[BaseException]", each).exceptions)
        cause = each.__context__ if context and each.__cause__ is None else each.__cause__
        if cause is not None:
            left.append(cause)


def described(error: BaseException) -> str:
    """An error's class and text."""
    name = type(error).__name__
    try:
        said = str(error)
    except (Exception, SystemExit) as broken:
        said = f"(its text can't be read: {type(broken).__name__})"
    return f"{name}: {said}" if said else name


class Place(str):
    """Where in an agent an error was raised, in the agent's own words ("in task 'write'"). A note of the error, so that
    tracebacks show it, too."""

    __slots__ = ()


@contextmanager
def placed(place: str) -> Generator[None]:
    """A block whose errors are noted as from this place, unless they have one already."""
    try:
        yield
    except Exception as error:
        with suppress(Exception):  # an error may refuse notes
            if place_of(error) is None:
                error.add_note(Place(place))
        raise


def place_of(error: BaseException) -> str | None:
    """The place that an error, or a cause of it, is noted as from."""
    with suppress(Exception):  # users' errors may raise whenever they are looked at
        notes = (note for each in chain(error) for note in getattr(each, "__notes__", ()))
        return next((note for note in notes if isinstance(note, Place)), None)
    return None
