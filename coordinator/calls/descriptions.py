"""Descriptions: stored jobs as users see them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from ...contracts.contract import ContractRef
from ...contracts.errors import Corrupted
from ...contracts.guard import DEFAULT, NOTHING, Spent
from ...contracts.handoff import Envelope
from ...contracts.job import PRIORITIES, Children, JobInfo, JobState, Lease
from ...contracts.understood import understood
from ..blobs import open_blob, open_envelope
from ..book import parse_ref
from ..coded.codec import MissingKey
from ..coded.texts import clear
from ..questions import question_of
from ..rows import DamagedRow, JobRow
from ..snapshots import from_ms

R = TypeVar("R")
_log = logging.getLogger("batonpass.store")


def listed(rows: Iterable[JobRow]) -> Iterator[JobInfo]:
    """Stored jobs for a list. A damaged one is left out and logged, because it must not hide the others."""
    for row in rows:
        try:
            yield whole(row)
        except Corrupted as error:
            _log.warning("left out of a list: %s", error)


def whole(row: JobRow) -> JobInfo:
    """`describe`, for a job of a store that may be damaged."""
    try:
        return describe(row)
    except (ArithmeticError, LookupError, OSError, ValueError) as error:
        raise Corrupted(f"job {row.id} is damaged in the store ({error}): a backup may have it whole") from None


def describe(row: JobRow) -> JobInfo:
    """A stored job as users see it. What can't be read of its contents is left out and named, so that a list can't fail
    because of it."""
    unreadable = [*row.damaged] if isinstance(row, DamagedRow) else list[str]()
    envelope = _readable(_envelope, row, "envelope", unreadable)
    asks = row.state == JobState.INPUT_REQUIRED
    question = _readable(question_of, row, "question", unreadable) if asks else None
    return JobInfo(
        id=row.id,
        state=JobState(row.state),
        reason=row.reason,
        agent=row.agent,
        contract=parse_ref(row.contract),
        thread=row.thread,
        hop=row.hop,
        attempt=row.attempt,
        crashes=row.crashes,
        path=envelope.path if envelope else (),
        guard=envelope.guard if envelope else DEFAULT,
        spent=_spent(row, envelope.spent if envelope else NOTHING),
        checkpoint_id=row.tip or None,
        lease=_lease(row) if row.lease else None,
        key=row.key or None,
        question=question,
        error=clear(row.error) or None,
        created_at=from_ms(row.created),
        updated_at=from_ms(row.updated),
        due_at=from_ms(row.due) if row.due else None,
        priority=PRIORITIES[row.priority],
        expires_at=from_ms(row.expires) if row.expires else None,
        deadline=from_ms(row.deadline) if row.deadline else None,
        parent=row.parent or None,
        children=Children(row.children, row.done, row.lost) if row.fan else None,
        unreadable=tuple(unreadable),
    )


def _readable(read: Callable[[JobRow], R], row: JobRow, what: str, unreadable: list[str]) -> R | None:
    """A stored text of a job. If it can't be read here, None, and its name is noted."""
    try:
        return read(row)
    except (Corrupted, MissingKey):
        unreadable.append(what)
        return None


def _envelope(row: JobRow) -> Envelope:
    return open_envelope(row.envelope, of=f"the envelope of job {row.id}")


def _lease(row: JobRow) -> Lease:
    return Lease(id=row.lease, token=row.token, worker=row.worker, expires_at=from_ms(row.lease_until))


def _spent(row: JobRow, before: Spent) -> Spent:
    with suppress(Corrupted, MissingKey):  # reading the result will raise that
        if row.result:
            return result_of(row)[2] if row.state == JobState.COMPLETED else before.at_least(_spent_till(row))
    return before


@understood("what job {0.id} spent")
def _spent_till(row: JobRow) -> Spent:
    """What the chain had spent when the job ended last without a result."""
    _, _, tokens, cost, *_ = open_blob(row.result, of=f"what job {row.id} spent")
    return NOTHING.at_least(Spent(tokens, cost))


@understood("the result of job {0.id}")
def result_of(row: JobRow) -> tuple[ContractRef, bytes, Spent]:
    """The result's contract and payload, and what the chain has spent in all."""
    name, version, data, *spent = open_blob(row.result, of=f"the result of job {row.id}")
    return ContractRef(name, version), data, Spent(*spent[0][:2]) if spent else NOTHING
