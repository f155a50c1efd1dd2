"""Calls about threads and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ...contracts.checkpoint import Checkpoint, CheckpointSummary, Snapshot
from ...contracts.contract import State
from ...contracts.errors import BadSetup, ContractViolation, NotFound
from ...contracts.names import is_id
from ..book import Book
from ..commands import Expire, Latest, Restore, Save, Timeline
from ..rows import CheckpointRow, CommitLine, JobRow
from ..snapshots import close_snapshot, open_checkpoint, open_summary, saved
from . import Call, jobs
from .inputs import milliseconds, text


def save(
    thread: str,
    agent: str,
    state: Any,
    *,
    step: str = "",
    context: Mapping[str, Any] | None = None,
    framework: str = "python",
    native: Any = None,
    ttl: float | None = None,
    parent: str | None = None,
    branch: bool = False,
) -> Call[Checkpoint]:
    """Commit a checkpoint at the thread's tip."""
    if not thread:
        raise BadSetup("save needs a thread: any name that groups the checkpoints that belong together")
    lives = 0 if ttl is None else milliseconds(ttl, "ttl", least=0.001)
    snapshot = Snapshot(step=step, state=state, framework=framework, native=native, context=dict(context or {}))
    new = close_snapshot(snapshot, thread=thread, agent=agent, ttl=lives)
    commit: CommitLine = yield Save(
        thread=thread, checkpoint=new, parent=checked(parent) if parent else "", branch=branch
    )
    return saved(new, commit)


def restore(checkpoint_id: str) -> Call[Checkpoint]:
    """One checkpoint, verified."""
    row: CheckpointRow = yield Restore(checked(checkpoint_id))
    return open_checkpoint(row)


def latest(thread: str) -> Call[Checkpoint | None]:
    """The thread's newest checkpoint, verified; None for a thread without any."""
    row: CheckpointRow | None = yield Latest(text(thread, "thread"))
    return open_checkpoint(row) if row else None


def timeline(thread: str, limit: int, before: str | None) -> Call[list[CheckpointSummary]]:
    """A page of the thread's checkpoints, newest first."""
    rows: list[CheckpointRow] = yield Timeline(text(thread, "thread"), limit, checked(before) if before else "")
    return [open_summary(row) for row in rows]


def expire(checkpoint_id: str) -> Call[None]:
    """Delete one checkpoint."""
    yield Expire(checked(checkpoint_id))


def hand_off(book: Book, checkpoint_id: str, to: str, payload: object, key: str | None) -> Call[JobRow]:
    """A new job for an agent, going on from a checkpoint; without payload, with its state."""
    checkpoint = yield from restore(checkpoint_id)
    if payload is None:
        given: object = checkpoint.state
        if not isinstance(given, dict):
            kind = type(given).__name__
            raise ContractViolation(f"the state of checkpoint {checkpoint_id} is a {kind}, not a dict: give payload=")
        state = cast("dict[str, Any]", given)
        agent = book.agent(to)
        is_state = agent is not None and agent.accepts is State
        payload = State(**state) if is_state else dict(state)
    return (yield from jobs.submit(book, to, payload, key=key, origin=checkpoint_id))


def checked(checkpoint_id: str) -> str:
    """A checkpoint id, refused here if it can't be one."""
    if not is_id(checkpoint_id, "c"):
        raise NotFound(f"{checkpoint_id!r} is not a checkpoint id: list them with `batonpass timeline THREAD`")
    return checkpoint_id
