"""Memories: what a run tells CrewAI's memory, so that a task or method that starts again does not tell it twice.

CrewAI writes most of it in the background. A task or method counts as finished only once that is written.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import wraps
from typing import Any

from crewai.memory.types import MemoryRecord

from .. import internals
from .steps import current


def adopt_memories() -> None:
    """Have CrewAI's memories report to the steps of the run that uses them. Once for each process."""
    internals.watch_memories(_remembering, _promising)


def _remembering(encode: Callable[..., list[MemoryRecord]]) -> Callable[..., list[MemoryRecord]]:
    """A function that writes texts, in the memory's own thread, unless a record says that this was done."""

    @wraps(encode)
    def remembered(memory: Any, *told: Any, **options: Any) -> list[MemoryRecord]:
        steps = current.get()
        if steps is None:
            return encode(memory, *told, **options)
        call = steps.begin("memory", told, options)
        if call.answer is not None:
            return [MemoryRecord.model_validate(record) for record in call.answer[1]]
        with steps.within(call):
            records = encode(memory, *told, **options)
        steps.record(call, ["plain", [record.model_dump(mode="json") for record in records]])
        return records

    return remembered


def _promising(submit: Callable[..., Future[Any]]) -> Callable[..., Future[Any]]:
    """A function that has a memory's thread write something. The run's steps wait for it."""

    @wraps(submit)
    def promised(memory: Any, *args: Any, **options: Any) -> Future[Any]:
        written = submit(memory, *args, **options)
        steps = current.get()
        if steps is not None:
            steps.promise(written)
        return written

    return promised
