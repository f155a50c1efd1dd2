"""Closing: closes several things, even if some can't be closed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from types import TracebackType


class Closing:
    """Use `with Closing() as ending:`, and close each thing inside of it in a block `with ending.part():`. All parts
    run, and then the first error is raised. (`AsyncExitStack` would raise the last one, and go on after a cancellation.
    This ends at once when it is cancelled, so shield what must be closed anyway.)"""

    def __init__(self) -> None:
        self._first: Exception | None = None

    def __enter__(self) -> Closing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._first is not None and error is None:  # a cancellation has to reach whoever cancelled
            raise self._first

    @contextmanager
    def part(self) -> Generator[None]:
        try:
            yield
        except Exception as error:
            self._first = self._first or error


async def end_all(*closes: Callable[[], Awaitable[None] | None]) -> None:
    """Close several things in this order, by functions that are async or not."""
    with Closing() as ending:
        for close in closes:
            with ending.part():
                closing = close()
                if closing is not None:
                    await closing
