"""Calls about dead letters: deliveries that ran out of attempts or can't be understood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from ...contracts.agent import Agent
from ...contracts.errors import BadSetup, NotFound, WrongState
from ...contracts.guard import Guard
from ...contracts.job import FAILURE_REASONS, JobInfo, JobState
from ...contracts.names import mint, partition_of
from ..blobs import open_envelope, seal_envelope
from ..book import Book, target
from ..commands import STEP, ListJobs, Redrive, Target
from ..editing import check_payload, native_after
from ..parts.bases import Bases
from ..paths import check_names
from ..refusals import Strayed
from ..rows import JobRow
from ..snapshots import ROLLBACK, from_ms
from . import Call, tips
from .descriptions import listed
from .doubt import RESULT, confirmed, outcome_of, taken_back, told
from .edits import Edit
from .inputs import count, name_wanted, span, texts
from .jobs import checked, look
from .lost import made_again
from .sources import Source, drafts, save_one
from .terms import check_guard

_PAGE = 200


def page(
    agent: str | Agent[Any] | None,
    reason: str | None,
    limit: int,
    before: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Call[list[JobInfo]]:
    """Failed jobs, the last to fail first, optionally those that failed within a time. Below one that was deleted, the
    list begins anew, so that none is left out."""
    if reason is not None and reason not in FAILURE_REASONS:
        raise BadSetup(f"reason={reason!r}, but it must be one of {', '.join(FAILURE_REASONS)}")
    whose, (first, end) = name_wanted(agent), span(since, until)
    count(limit, "limit")
    found: list[JobInfo] = []
    top, last = 0, checked(before) if before else ""
    at = 0 if last or until is None else end  # so that all later ones need not be read
    while len(found) < limit:
        try:
            rows: list[JobRow] = yield ListJobs(_PAGE, last, dead=True, at=at)
        except NotFound:  # that job was deleted, and its id does not tell when it failed
            return (yield from page(agent, reason, limit, None, since, until))
        wanted = (row for row in rows if whose in (None, row.agent) and reason in (None, row.reason))
        found += listed(row for row in wanted if first <= row.updated < end)
        if len(rows) < _PAGE or rows[-1].updated < first:
            break
        # Others may redrive or delete that job before the next page is read.
        top, at, last = top or rows[0].updated, rows[-1].updated, rows[-1].id
    if len(found) < limit and not before and first < top < end:
        # One that was redriven meanwhile, and failed again, is now above where this list began.
        again = yield from page(agent, reason, limit, since=from_ms(top), until=until)
        moved = {info.id for info in again}
        found = [*again, *(info for info in found if info.id not in moved)]
    return found[:limit]


def redrive(
    bases: Bases,
    book: Book,
    job_id: str,
    payload: object,
    changes: Mapping[str, Any] | None,
    guard: Guard | None,
    not_done: Sequence[str] = (),
    add: Mapping[str, Any] | None = None,
    lost_children: bool = False,
) -> Call[None]:
    """Retry a failed job, with its payload, state and guard as edited, `not_done` effects taken back, and its
    `lost_children` going on."""
    if guard is not None:
        check_guard(guard)
    edit, keys = Edit({**_named(changes, "changes"), **_named(add, "add")}).own(), texts(not_done, "not_done")
    row = yield from look(job_id)
    edited = payload is not None or guard is not None
    if edited or edit.changes or keys or lost_children:
        _check_failed(row)
    source = (yield from tips.source(book, row)) if payload is not None or edit.changes or keys else None
    if payload is not None and source is not None:
        check_payload(source.checkpoint)
    if source is not None:
        # A framework's adapter knows which names a state may have, with or without a value.
        named = changes if source.checkpoint.framework == "python" else None
        check_names(source.checkpoint.state, _values(named), _values(add))
    onward = (yield from _addressed(book, row, payload, guard)) if edited else None
    results = {str(name).removeprefix(RESULT) for name in edit.changes if str(name).startswith(RESULT)}
    if both := sorted({*keys} & results):
        raise BadSetup(f"changes= tells a result of effect {both[0]!r}, and not_done= says that there is none")
    back = (yield from taken_back(row, source, keys)) if keys else {}
    tip, records = (yield from _edited(bases, row, source, edit)) if edit.changes else ("", {})
    records |= back
    if lost_children:
        records |= yield from made_again(row)
    try:
        yield Redrive(row.id, onward, tip or _other(source, row), row.token, records, at_tip=source is None)
    except Strayed:  # so seldom that most redrives don't look
        source = yield from tips.source(book, row)
        yield Redrive(row.id, onward, tip or _other(source, row), row.token, records)


def state_of(book: Book, job_id: str) -> Call[Any]:
    """The state from which a failed job would continue. None if its hop has none yet."""
    row = yield from look(job_id)
    _check_failed(row)
    source = yield from tips.source(book, row)
    return None if source is None else source.checkpoint.state


def _named(given: object, option: str) -> Mapping[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise BadSetup(f"redrive({option}=...) takes a dict of names and values, not one {type(given).__name__}")
    return cast("Mapping[str, Any]", given or {})


def _check_failed(row: JobRow) -> None:
    if row.state != JobState.FAILED:
        raise WrongState(f"job {row.id} is {row.state}: only a failed job can be redriven")


def _values(given: Mapping[str, Any] | None) -> list[str]:
    """The names of values of a state. (Those of effects are checked by what has started.)"""
    return [name for name in given or {} if not str(name).startswith(RESULT)]


def _other(source: Source | None, row: JobRow) -> str:
    """The checkpoint that the job goes on from, if that is not its last one."""
    return source.checkpoint.id if source is not None and source.checkpoint.id != row.tip else ""


def _addressed(book: Book, row: JobRow, payload: object, guard: Guard | None) -> Call[Target]:
    envelope = open_envelope(row.envelope, of=f"the envelope of job {row.id}")
    if payload is not None:
        contract, data = yield from book.address(row.agent, payload)
        envelope = replace(envelope, contract=contract, payload=data)
    onward = seal_envelope(replace(envelope, guard=guard.onto(envelope.guard) if guard else envelope.guard))
    lane = yield from book.lane(row.agent, envelope.contract, envelope.payload)
    return target(row.agent, envelope.contract, onward, priority=row.priority, lane=lane)


def _edited(bases: Bases, row: JobRow, source: Source | None, edit: Edit) -> Call[tuple[str, dict[str, bytes]]]:
    """Save a checkpoint of the job's hop with some of its state changed. Returns its id, and what to record of effects:
    only a plain function's state has their results."""
    records = yield from told(row, source, edit.changes)
    left = {name: value for name, value in edit.changes.items() if STEP + str(name) not in records}
    if not left:
        return "", records
    if source is None:
        raise BadSetup(
            f"hop {row.hop} of job {row.id} has no checkpoint yet: there is no state to change, so change the payload"
        )
    # The name of an effect may read like a place in another one's result.
    effects = {name: value for name, value in left.items() if outcome_of(name) in records}
    state = source.checkpoint.state
    records |= yield from confirmed(row, source, left)
    edit = Edit(left).within({**state, **effects} if effects else state)
    snapshot = edit.of(source.checkpoint, source.base, "edit")
    snapshot = replace(snapshot, native=native_after(source.checkpoint, edit.changes))
    # If the redrive itself never comes, the next one must still find that the thread was taken back.
    more = {ROLLBACK: True} if source.checkpoint.id != row.tip else None
    own: dict[str, Any] = {"job": row.id, "hop": row.hop, "more": more}
    tries = drafts(bases, source, snapshot, row.thread, mint("c", partition_of(row.id)), **own)
    made, _ = yield from save_one(tries, source)
    return made.new.id, records
