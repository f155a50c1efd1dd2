"""Failure: what programs are told about an error, on the command line with --json and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from batonpass.contracts.errors import BatonpassError, ContractViolation, Corrupted, KeyConflict, ThreadBusy, Trimmed

from .printing import line


class Halfway(BatonpassError):
    """A command about several jobs that `error` stopped. `done` is what a program is told when nothing stops it."""

    def __init__(self, error: BatonpassError, done: Mapping[str, Any]) -> None:
        super().__init__(str(error))
        self.error = error
        self.done = done


def failure(error: BatonpassError) -> dict[str, Any]:
    """One line, its class, what is wrong where, and what a program needs to continue."""
    if isinstance(error, Halfway):
        return {**failure(error.error), **error.done}
    told = {"error": line(str(error)), "type": kind_of(error), "fields": list(wrong_fields(error))}
    return {**told, **dict(needed(error))}


def kind_of(error: BatonpassError) -> str:
    """The name of its public class, for programs that do not want to read the text."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == BatonpassError.__module__)


def wrong_fields(error: BatonpassError) -> tuple[str, ...]:
    """What is wrong where, as `field: what is wrong`."""
    return tuple(map(line, error.fields)) if isinstance(error, ContractViolation) else ()


def needed(error: BatonpassError) -> Iterator[tuple[str, str]]:
    """The first job that has a key, the job that runs on the thread, or the cursor to continue from, by name."""
    if isinstance(error, KeyConflict | ThreadBusy) and error.job_id:
        yield "job_id", error.job_id
    if isinstance(error, Trimmed):
        yield "after", error.first_available
    if isinstance(error, Corrupted) and error.after:
        yield "after", error.after
