"""Ending: several things are closed, whatever one of them says."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType


class Ending:
    """`with Ending() as ending:`, and within it each thing is closed `with ending.part():`. One that can't be closed
    does not keep the others open; the first error is raised when all have had their turn. (A cancellation ends it
    at once: shield what must not be cut short.)"""

    def __init__(self) -> None:
        self._first: Exception | None = None

    def __enter__(self) -> Ending:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._first is not None and error is None:  # a cancellation must reach who cancels
            raise self._first

    @contextmanager
    def part(self) -> Generator[None]:
        try:
            yield
        except Exception as error:
            self._first = self._first or error
