"""Answers of different stores, made comparable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import CheckpointRow, Delivery, EventRow, JobRow, KeptJob, PlaceRow, StreamRow
from tests.harness.bench import Bench


def attempt(bench: Bench, command: c.Command[Any]) -> tuple[Any, object]:
    """The answer (None if it was refused), and the part of it that must be equal: for a refusal, its class and its
    words."""
    try:
        answer = bench.do(command)
    except bp.BatonpassError as error:
        return None, (type(error).__name__, str(error))
    return answer, comparable(answer)


def comparable(answer: Any) -> object:
    """Places in queues and positions of events are each store's own. On Redis, times of events are the server's."""
    if isinstance(answer, list):
        if answer and type(answer[0]) is tuple:  # checkpoints of a run, in any order
            return sorted(answer)
        return [comparable(item) for item in answer]
    if isinstance(answer, PlaceRow):
        writes = sorted((write.name, write.data, write.spans, tuple(write.bodies)) for write in answer.writes)
        return (answer.place, comparable(answer.checkpoint), writes)
    if isinstance(answer, JobRow):
        return replace(answer, ready=int(bool(answer.ready)), waits=int(bool(answer.waits)))
    if isinstance(answer, KeptJob):
        return (comparable(answer.job), dict(answer.journal), list(answer.outcomes))
    if isinstance(answer, EventRow):
        return {name: value for name, value in answer.fields.items() if name != "time"}
    if isinstance(answer, c.Taken):
        return (answer.more, [(batch.id, comparable(list(batch.rows))) for batch in answer.batches])
    if isinstance(answer, StreamRow):
        return answer.data
    if isinstance(answer, CheckpointRow):
        return replace(answer, bodies=tuple(answer.bodies))
    if isinstance(answer, Delivery):
        # Whose thread an origin is on, its own header says.
        checkpoint = replace(answer.checkpoint, thread="") if answer.checkpoint else None
        return (comparable(answer.job), comparable(checkpoint), dict(answer.journal))
    return answer


def difference(found: object, expected: object) -> str:
    """Where a store's answer leaves the model's, in a line or two."""
    if isinstance(found, list) and isinstance(expected, list):
        pairs = list(zip(found, expected, strict=False))
        at = next((n for n, (one, other) in enumerate(pairs) if one != other), len(pairs))
        return f"at {at} of {len(expected)}: {found[at : at + 1]}, the model: {expected[at : at + 1]}"
    return f"{found}, the model: {expected}"
