"""Schedules: calls about recurring jobs.

A schedule is up to three items: what it is, and whether it rests, written by clients, and when it was last due,
written by workers. So a late worker can't change a schedule, nor can a pause undo a change. And taking the same time
again makes no new job, because a job's key is name and time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, field, replace
from datetime import datetime
from typing import Any, TypeVar, get_args

from ...contracts import event as kinds
from ...contracts.contract import contract_ref, load_mapping
from ...contracts.duration import Duration, seconds_of
from ...contracts.errors import (
    BadSetup,
    BatonpassError,
    ContractViolation,
    Corrupted,
    NotFound,
    Unavailable,
    UnknownAgent,
    Unreachable,
)
from ...contracts.guard import DEFAULT, Guard
from ...contracts.job import OnBusy, Priority
from ...contracts.lean import dataclass
from ...contracts.options import SubmitOptions
from ...contracts.schedule import CatchUp, Schedule
from ...contracts.understood import understood
from .. import cron as times
from ..blobs import open_blob, seal_blob
from ..book import Book
from ..commands import ListItems, ReadItems, WriteItems
from ..items import RESTING_SCHEDULES, SCHEDULES, ItemChange, ItemName, ItemNews, ItemPage, ItemRow
from ..rows import JobRow
from ..snapshots import from_ms
from . import Call, jobs
from .inputs import bounded, text
from .terms import terms

R = TypeVar("R")
# A time that passed longer ago than this (ms) was missed: no worker was up. For as long, a worker leaves schedules
# whose contract it does not have to others.
_MISSED = 60_000
# How many pauses are read at once.
_AT_ONCE = 500
_NEVER: Mapping[str, Any] = {"due": 0, "job": None, "error": None}


@dataclass(frozen=True)
class Look:
    """What came of a look at the schedules: name and job of each that was due, name and error of each that could not be
    submitted, or not yet (`late`), and in how many ms the next one is due (None: none is)."""

    jobs: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    errors: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    late: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    wait: int | None = None


def options(
    thread: str | None,
    on_busy: OnBusy,
    priority: Priority,
    expires: Duration | None,
    deadline: Duration | None,
    guard: Guard,
) -> SubmitOptions:
    """The arguments for submitting a schedule's jobs, in a form that can be stored. (`put` has the guard's form.)"""
    kept: SubmitOptions = {"thread": thread, "on_busy": on_busy, "priority": priority}
    if expires is not None:
        kept["expires"] = seconds_of(expires)
    if isinstance(deadline, datetime):
        raise BadSetup(f"deadline={deadline} is one time for all jobs: give a duration, from when each is submitted")
    if deadline is not None:
        kept["deadline"] = seconds_of(deadline)
    if guard != DEFAULT:
        kept["guard"] = guard
    return kept


def put(
    book: Book,
    name: str,
    agent: str,
    payload: object,
    cron: str,
    timezone: str,
    catch_up: CatchUp,
    options: SubmitOptions,
) -> Call[None]:
    """Make a schedule, or replace the one of that name.

    If an identical one exists, nothing happens. A schedule counts from when it was written, so a program that makes its
    schedules whenever it starts would otherwise lose the times that were missed while it was down.
    """
    if not bounded(name, "name"):
        raise BadSetup("a schedule needs a name")
    if catch_up not in get_args(CatchUp):
        raise BadSetup(f"catch_up={catch_up!r}, but it must be {' or '.join(get_args(CatchUp))}")
    times.check(cron, timezone)
    terms(options)
    jobs.names(options)
    contract, data = yield from book.address(agent, payload)
    given = dict(load_mapping(contract, data))
    about = {"agent": agent, "payload": given, "cron": cron, "timezone": timezone, "catch_up": catch_up}
    sealed = seal_blob({**about, **_stored(options)}, path=f"schedule {name!r}")
    row, rest = yield ReadItems((_defined(name), _resting(name)))
    if row is None and rest is not None:  # the pause of one that was removed at the same time
        yield WriteItems((ItemChange(_resting(name), None),))
    if row is None or row.value != sealed:
        yield WriteItems((ItemChange(_defined(name), sealed),))


def _stored(options: SubmitOptions) -> dict[str, Any]:
    """The options, and beside them the guard, as far as it is not the default one.

    In the options, a worker of a release that stores none would take the schedule's time, and make no job. So it can't
    read the schedule, and leaves the time to others.
    """
    plain: dict[str, Any] = dict(options)
    guard: Guard | None = plain.pop("guard", None)
    if guard is None:
        return {"options": plain}
    limits = {name: value for name, value in asdict(guard).items() if value != getattr(DEFAULT, name)}
    return {"options": plain, "guard": limits}


def pause(name: str, *, paused: bool) -> Call[None]:
    """Let a schedule rest, or go on from now."""
    yield from _read(name)
    [rest] = yield ReadItems((_resting(name),))
    if _rests(rest) != paused:
        yield WriteItems((ItemChange(_resting(name), seal_blob(paused, path=f"the pause of schedule {name!r}")),))


def run(book: Book, name: str) -> Call[JobRow]:
    """Submit the job of a schedule now, beside those of its times."""
    row, noted = yield from _read(name)
    schedule = _schedule(row, noted, None, row.updated)
    options: Any = schedule.options
    return (yield from jobs.submit(book, schedule.agent, _payload(book, schedule), options, about={"schedule": name}))


def _read(name: str) -> Call[tuple[ItemRow, ItemRow | None]]:
    [row, noted] = yield ReadItems((_defined(text(name, "schedule")), _noted(name)))
    if row is None:
        raise NotFound(f"there is no schedule {name!r}: `batonpass schedule list` lists them")
    return row, noted


def remove(name: str) -> Call[None]:
    """Delete a schedule."""
    yield from _read(name)
    yield WriteItems(tuple([ItemChange(each(name), None) for each in (_defined, _noted, _resting)]))


def every() -> Call[list[Schedule]]:
    """All schedules, by name. One that can't be read must not hide the others."""
    defined, noted, now = yield from _rows()
    found: list[Schedule] = []
    pauses: list[ItemRow | None] = []
    for start in range(0, len(defined), _AT_ONCE):
        pauses += yield ReadItems(tuple(_resting(row.name.key) for row in defined[start : start + _AT_ONCE]))
    for row, rest in zip(defined, pauses, strict=True):
        try:
            found.append(_schedule(row, noted.get(row.name.key), rest, now))
        except BatonpassError as error:
            found.append(_unreadable(row, str(error)))
    return found


def _unreadable(row: ItemRow, error: str) -> Schedule:
    return Schedule(
        name=row.name.key,
        agent="",
        payload={},
        cron="",
        timezone="",
        catch_up="latest",
        options={},
        changed_at=from_ms(row.updated),
        next_at=None,
        last_at=None,
        last_job=None,
        error=error,
        unreadable=True,
    )


def overdue(found: Iterable[Schedule], now: int) -> dict[str, float]:
    """For how many seconds schedules are overdue by the store's time, by name: no worker looks at them, or none can."""
    late = {each.name: now / 1000 - each.next_at.timestamp() for each in found if each.next_at}
    return {name: seconds for name, seconds in late.items() if seconds * 1000 > _MISSED}


def look(book: Book, left: dict[str, int]) -> Call[Look]:
    """Submit the jobs of all schedules that are due. Any number of workers may do this at once. `left` is kept by the
    caller from look to look: since when it has left which schedules to others."""
    defined, noted, now = yield from _rows()
    found, waits = Look(), list[int]()
    for row in defined:
        try:
            coming = yield from _look_at(book, (row, noted.pop(row.name.key, None)), now, left, found)
        except BatonpassError as error:
            (found.late if isinstance(error, Unavailable) else found.errors).append((row.name.key, str(error)))
            continue
        waits += [coming - now] if coming is not None else []
    if noted:  # also for schedules that were removed just when they were due
        yield WriteItems(tuple([ItemChange(row.name, None) for row in noted.values()]))
    return replace(found, wait=min(waits, default=None))


def _look_at(
    book: Book, items: tuple[ItemRow, ItemRow | None], now: int, left: dict[str, int], found: Look
) -> Call[int | None]:
    """Submit the job of a schedule if it is due. Returns when it is due next, if ever."""
    row, last = items
    schedule = _schedule(row, last, None, now)
    if _since(row, last, None, now) > now:  # or nothing would be due until the clock has caught up
        yield from _note(schedule, now, schedule.last_job, schedule.error)
    coming = round(schedule.next_at.timestamp() * 1000) if schedule.next_at else None
    if coming is None or coming > now:
        left.pop(schedule.name, None)
        return coming
    *current, rest = yield ReadItems((row.name, _noted(schedule.name), _resting(schedule.name)))
    if current != [row, last]:
        return now  # others took this time meanwhile, or it was removed or changed: the next look sees
    due = times.latest(schedule.cron, schedule.timezone, _since(row, last, rest, now), now)
    if rest is not None and (_rests(rest) or not due):
        left.pop(schedule.name, None)  # nobody takes a time that passed while it rested
    else:
        may_leave = now - left.setdefault(schedule.name, now) <= _MISSED
        at = _Due(due or coming, now, last.updated if last else 0, may_leave)
        if (yield from _submit(book, schedule, at, found)):
            del left[schedule.name]
    return times.following(schedule.cron, schedule.timezone, now)


@dataclass(frozen=True)
class _Due:
    """A time that is due. `noted`: the one before. `may_leave`: whether it may be left to other workers for now."""

    at: int
    now: int
    noted: int
    may_leave: bool


def _submit(book: Book, schedule: Schedule, due: _Due, found: Look) -> Call[bool]:
    """Submit the job of a time, and record the outcome. Returns False if it is left to another worker."""
    name, job, problem = schedule.name, None, None
    if schedule.catch_up == "latest" or due.now - due.at <= _MISSED:
        options: Any = schedule.options
        about = {"schedule": name, "at": str(due.at)}
        try:
            payload = _payload(book, schedule)
            once = (name, str(due.at))
            row = yield from _reaching(jobs.submit(book, schedule.agent, payload, options, once=once, about=about))
        except Unavailable:
            raise  # not recorded, so it will be tried again
        except Exception as error:  # a contract's own checks may raise anything, and must not end who looks
            of_release = isinstance(error, ContractViolation | Corrupted)
            if due.may_leave and of_release and (yield from _others_know(book, schedule)):
                return False
            problem = str(error) if isinstance(error, BatonpassError) else f"{type(error).__name__}: {error}"
            found.errors.append((name, problem))
        else:
            job = row.id
            found.jobs.append((name, job))
    about = {"agent": schedule.agent, "at": str(due.at), "error": problem or ""}
    news = ItemNews(kinds.NOT_SCHEDULED, name, about, due.noted) if problem else None
    yield from _note(schedule, due.at, job, problem, news)
    return True


def _reaching(call: Call[R]) -> Call[R]:
    """The same call. What its store raises that is none of our errors is an outage, and no fault of the payload."""
    try:
        command = next(call)
        while True:
            try:
                answer = yield command
            except BatonpassError as error:
                command = call.throw(error)
            except Exception as error:
                command = call.throw(Unreachable(f"the store failed: {type(error).__name__}: {error}"))
            else:
                command = call.send(answer)
    except StopIteration as end:
        result: R = end.value
        return result


def _others_know(book: Book, schedule: Schedule) -> Call[bool]:
    """Whether a payload that does not fit here may fit elsewhere: at a worker that has the agent and upcasts the older
    version of the contract in which it was written, or that is of the newer release in a rolling deploy."""
    own = book.agent(schedule.agent)
    if own is None:
        return True
    try:
        recorded = yield from book.declaration(schedule.agent)
    except UnknownAgent:
        return False
    except Corrupted:  # or it is a newer release's
        return True
    return recorded.accepts != contract_ref(own.accepts)


def _payload(book: Book, schedule: Schedule) -> object:
    """The payload for the agent. Upcast, if the schedule was written with an older version of its contract."""
    agent = book.agent(schedule.agent)
    return book.said(agent.accepts, schedule.payload) if agent else schedule.payload


def _note(schedule: Schedule, due: int, job: str | None, error: str | None, news: ItemNews | None = None) -> Call[None]:
    noted = seal_blob({"due": due, "job": job, "error": error}, path=f"schedule {schedule.name!r}")
    yield WriteItems((ItemChange(_noted(schedule.name), noted),), news)


def _rows() -> Call[tuple[list[ItemRow], dict[str, ItemRow], int]]:
    """The schedules, when they were last due, and the store's time."""
    defined, noted, now, start = list[ItemRow](), dict[str, ItemRow](), 0, ""
    while True:
        page: ItemPage = yield ListItems((SCHEDULES,), start)
        now = now or page.now
        for row in page.rows:
            if row.name.labels == _defined("").labels:
                defined.append(row)
            else:
                noted[row.name.key] = row
        if not page.start:
            return defined, noted, now
        start = page.start


@understood("a schedule")
def _schedule(row: ItemRow, noted: ItemRow | None, rest: ItemRow | None, now: int) -> Schedule:
    name = row.name.key
    about: dict[str, Any] = open_blob(row.value, of=f"schedule {name!r}")
    if "guard" in about:
        about["options"] = {**about["options"], "guard": Guard(**about.pop("guard"))}
    if not about["options"].get("thread"):  # a release before 0.1.0 took it although it says nothing then
        about["options"] = {name: value for name, value in about["options"].items() if name != "on_busy"}
    last = _last(name, noted)
    since = min(_since(row, noted, rest, now), now)
    coming = None if _rests(rest) else times.following(about["cron"], about["timezone"], since)
    return Schedule(
        name=name,
        changed_at=from_ms(row.updated),
        next_at=from_ms(coming) if coming is not None else None,
        last_at=from_ms(last["due"]) if last["due"] else None,
        last_job=last["job"],
        error=last["error"],
        paused=_rests(rest),
        **about,
    )


def _last(name: str, noted: ItemRow | None) -> Mapping[str, Any]:
    return open_blob(noted.value, of=f"the last time of schedule {name!r}") if noted else _NEVER


def _since(row: ItemRow, noted: ItemRow | None, rest: ItemRow | None, now: int) -> int:
    """The time after which it is due next. In the future, if the store's clock was ahead when that was written."""
    last: int = _last(row.name.key, noted)["due"]
    # Somewhat later than `now` is while a worker looks. Later than that, the clock was ahead, and nobody knows when.
    resumed = rest.updated if rest and rest.updated <= now + _MISSED else 0
    return max(row.updated if row.updated <= now or not last else 0, resumed, last)


def _defined(name: str) -> ItemName:
    return ItemName((SCHEDULES, "defined"), name)


def _noted(name: str) -> ItemName:
    return ItemName((SCHEDULES, "noted"), name)


def _resting(name: str) -> ItemName:
    return ItemName((RESTING_SCHEDULES,), name)


def _rests(rest: ItemRow | None) -> bool:
    return rest is not None and bool(open_blob(rest.value, of=f"the pause of schedule {rest.name.key!r}"))
