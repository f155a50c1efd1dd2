"""Waits: what a job that is not at work waits for, for who looks at it and wonders."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ...contracts.contract import ContractRef, load_mapping
from ...contracts.errors import Corrupted, NotFound, UnknownAgent
from ...contracts.job import ENDED, SLEEPING, JobState
from ..blobs import open_envelope
from ..book import Book, Numbers, numbers_of, parse_ref
from ..coded.codec import MissingKey
from ..coded.texts import clear
from ..commands import ReadLane, ReadTurns, Takers
from ..rows import NEVER, JobRow, LaneRow
from ..snapshots import from_ms
from . import Call
from .jobs import look
from .pauses import pauses, told_of

# So many jobs that stand in the way are named.
_NAMED = 5
# So many jobs of a thread's line are looked at for a place in it.
_IN_LINE = 500
# Why jobs wait in the line of a limit.
LIMITED = ("limited", "rate_limited")
_UNTIL_DUE = {
    "retry_at": "for its next attempt",
    "scheduled": "for the time that it was submitted for",
    SLEEPING: "in a ctx.sleep",
}


def waits_for(book: Book, job_id: str) -> Call[str | None]:
    """What the job waits for, in a sentence. None if a worker runs it, or if it has ended."""
    row = yield from look(job_id)
    if row.state in ENDED or row.lease:
        return None
    if row.state == JobState.INPUT_REQUIRED:
        return "a person's answer: `batonpass inbox` lists the questions"
    if row.reason == "waiting_children":
        left = row.children - row.done - row.lost
        return f"{left} of its {row.children} children, which have not ended: `batonpass jobs --parent {row.id}`"
    if row.reason == "thread_busy":
        return (yield from _for_thread(row))
    if (pause := (yield from pauses()).get(row.agent)) is not None:
        return f"its agent to be resumed: {told_of(row.agent, pause)}"
    if row.reason in LIMITED:
        return (yield from _for_lane(book, row))
    return (yield from _for_worker(book, row))


def remedy(waits: ContractRef, today: ContractRef | None) -> str:
    """What to do about jobs that wait with a contract which their agent does not accept today."""
    if today is None:
        return "no worker has declared it: start one"
    if waits.name == today.name and waits.version < today.version:
        return f"it accepts {today} now: let that read the older one (@app.upcast), or run the earlier version, too"
    return f"it accepts {today} now: run the version that accepts {waits}, too"


def _for_thread(row: JobRow) -> Call[str]:
    turns: list[str] = yield ReadTurns(row.thread, _IN_LINE)
    has, waiting = turns[:1], turns[1:]
    cut = f"at least {_IN_LINE}" if len(waiting) == _IN_LINE else 0
    ahead = waiting.index(row.id) if row.id in waiting else cut
    line = f" ({ahead} more in line before it)" if ahead else ""
    with suppress(NotFound):  # deleted meanwhile
        if has and has != [row.id]:
            runs = yield from look(has[0])
            state = f"{runs.state} at {runs.agent}"
            return f"its thread {row.thread!r}, which job {runs.id} has until it ends ({state}){line}"
    return f"its turn on thread {row.thread!r}{line}"


def _for_lane(book: Book, row: JobRow) -> Call[str]:
    """It waits in the line of a limit, of how many run at once or of how many start in a time."""
    numbers, by = yield from _limits(book, row)
    lane: LaneRow = yield ReadLane(row.id, row.lane, _NAMED + 1)
    of = f"agent {row.agent!r}" + (f" for {by}" if by else "")
    if row.reason == "rate_limited":
        rate = f"at most {numbers.starts} start(s) in {numbers.per / 1000:g} s" if numbers.starts else "a rate"
        opens = f"the next may start at {_at(lane.opens)}" if 0 < lane.opens < NEVER else "the next may start soon"
        return f"a limit of {of}: {rate}; {opens}"
    most = f"at most {numbers.concurrency} at once" if numbers.concurrency else "how many run at once"
    return f"a limit of {of}: {most}; {_held(lane.holders)}"


def _held(holders: Sequence[str]) -> str:
    if not holders:
        return "its turn comes soon"
    more = " and others" if len(holders) > _NAMED else ""
    return f"job {', '.join(holders[:_NAMED])}{more} has a place"


def _limits(book: Book, row: JobRow) -> Call[tuple[Numbers, str]]:
    """An agent's limits, and the field's value that the job is limited by, "" if there is none or it can't be read."""
    contract = parse_ref(row.contract)
    agent = book.agent(row.agent, contract.name)
    numbers, bounds = (numbers_of(agent), agent.bounds) if agent else (Numbers(), None)
    with suppress(UnknownAgent, Corrupted):
        if agent is None:
            recorded = yield from book.declaration(row.agent)
            numbers, bounds = recorded.numbers, recorded.bounds
    field = bounds.limit_by if bounds else None
    values: Mapping[str, Any] = {}
    with suppress(Corrupted, MissingKey):
        if field:
            values = load_mapping(contract, open_envelope(row.envelope, of=f"the envelope of job {row.id}").payload)
    if not field or field not in values:
        return numbers, field or ""
    return numbers, f"{field}={json.dumps(values[field], default=str)}"


def _for_worker(book: Book, row: JobRow) -> Call[str]:
    """It is ready, or will be when its time has come."""
    takers: int = yield Takers(row.queue)
    due = f"{_at(row.due)} ({_UNTIL_DUE.get(row.reason, row.reason)})" if row.due else ""
    error = clear(row.error) if row.reason == "retry_at" else ""
    after = f", after {error}" if error else ""
    if takers and due:
        return f"{due}{after}"
    if takers:
        return f"a free worker: {takers} live one(s) accept it, and are busy if it goes on waiting"
    today: ContractRef | None = None
    with suppress(UnknownAgent, Corrupted):
        today = (yield from book.declaration(row.agent)).accepts
    waits = parse_ref(row.contract)
    lacks = f"no live worker serves agent {row.agent!r} with {waits}"
    what = "start one" if waits == today else remedy(waits, today)
    return f"{due}{after}; then {lacks}: {what}" if due else f"a worker: {lacks}: {what}"


def _at(ms: int) -> str:
    return f"{from_ms(ms):%Y-%m-%d %H:%M:%S} UTC"
