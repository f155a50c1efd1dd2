"""Single: unwraps the one error in a group of errors. The task groups around it are ours, not the user's."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import cast


def single(error: BaseException) -> BaseException:
    """The one error inside exception groups, or the group if there are several."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return single(group.exceptions[0]) if len(group.exceptions) == 1 else group


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors inside exception groups, or the one error."""
    if isinstance(error, BaseExceptionGroup):
        for each in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from leaves(each)
    else:
        yield error


@contextmanager
def alone() -> Generator[None]:
    """A block whose only error is raised without its group."""
    try:
        yield
    except BaseExceptionGroup as group:
        found = single(cast("BaseException", group))
        if found is group:
            raise
        raise found from None
