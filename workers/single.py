"""Single: the one error in groups of errors. The task groups around it are ours, not the user's."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import cast


def single(error: BaseException) -> BaseException:
    """The one error inside of exception groups; a group, if there are several."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return single(group.exceptions[0]) if len(group.exceptions) == 1 else group


@contextmanager
def alone() -> Generator[None]:
    """A block whose one error comes out as it was raised."""
    try:
        yield
    except BaseExceptionGroup as group:
        found = single(cast("BaseException", group))
        if found is group:
            raise
        raise found from None
