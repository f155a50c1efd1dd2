"""Jobs: lists of jobs, and one job with everything that is known about it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from urllib.parse import urlencode

from batonpass.cli.jobs import died, trouble, values_of
from batonpass.contracts.checkpoint import CheckpointSummary
from batonpass.contracts.errors import Corrupted
from batonpass.contracts.job import JobInfo, JobState
from batonpass.coordinator.calls import adrive
from batonpass.coordinator.calls.inbox import asked
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.coded.codec import MissingKey

from ..refusing import problem_of
from .questions import Asking, Typed, asking
from .words import Shown, limits, plural, shown

PAGE = 50
_STEPS = 20  # checkpoints under a job
_UNREADABLE = "is damaged, or kept with a key that this service lacks (BATONPASS_ENCRYPT_KEYS, BATONPASS_SIGN_KEYS)"


@dataclass(frozen=True)
class Line:
    """A job in a list."""

    info: JobInfo
    says: Shown | None


@dataclass(frozen=True)
class JobsPage:
    """A page of jobs. `before` leads to the next one."""

    lines: tuple[Line, ...]
    before: str | None


@dataclass(frozen=True)
class Fact:
    """One thing that is known about a job: a text, a time or a link."""

    label: str
    text: str = ""
    at: datetime | None = None
    href: str = ""


@dataclass(frozen=True)
class JobPage:
    """A job. `refused` is what was typed into a form that the job no longer has."""

    info: JobInfo
    facts: tuple[Fact, ...]
    error: Shown | None
    payload: Shown | None
    result: Shown | None
    notes: tuple[str, ...]
    asking: Asking | None
    steps: tuple[CheckpointSummary, ...]
    before: str | None
    redrive: Typed | None
    limits: tuple[tuple[str, float | None], ...]
    refused: Typed | None


async def listed(
    coordinator: Coordinator,
    state: JobState | None,
    agent: str,
    parent: str,
    thread: str,
    before: str,
    *,
    children: bool,
) -> JobsPage:
    """A page of jobs, newest first."""
    found = await coordinator.jobs(
        state=state,
        agent=agent or None,
        parent=parent or None,
        children=children or bool(parent),
        thread=thread or None,
        limit=PAGE + 1,
        before=before or None,
    )
    return _page(found)


async def dead(coordinator: Coordinator, agent: str, before: str, limit: int = PAGE) -> JobsPage:
    """A page of dead letters, the last to fail first."""
    found = await coordinator.dead_letters(agent=agent or None, limit=limit + 1, before=before or None)
    return _page(found, limit)


async def one(coordinator: Coordinator, job_id: str, before: str = "", typed: Typed | None = None) -> JobPage:
    """Everything that is known about a job."""
    job = coordinator.job(job_id)
    info = await job.info()
    payload = result = None
    notes = [f"Its {what} {_UNREADABLE}." for what in info.unreadable]
    if "envelope" not in info.unreadable:
        with _noting(notes, "payload"):
            payload = shown(values_of(await job.payload()))
    if info.state == JobState.COMPLETED:
        with _noting(notes, "result"):
            result = shown(values_of(await job.result(timeout=0)))
    item = await adrive(coordinator.store, asked(job_id))
    answering = typed if typed and typed.form == "answer" and item else None
    steps: list[CheckpointSummary] = []
    with _noting(notes, "checkpoints"):
        steps = await _steps(coordinator, info, before)
    return JobPage(
        info,
        tuple(_facts(info, None if info.state.ended else await job.waits_for())),
        shown(info.error) if info.error else None,
        payload,
        result,
        tuple(notes),
        asking(item, answering) if item else None,
        tuple(steps[:_STEPS]),
        steps[_STEPS - 1].id if len(steps) > _STEPS else None,
        typed if typed and typed.form == "redrive" and info.state == JobState.FAILED else None,
        tuple(asdict(info.guard).items()),
        typed if typed and not answering and (typed.form != "redrive" or info.state != JobState.FAILED) else None,
    )


@contextmanager
def _noting(notes: list[str], what: str) -> Generator[None]:
    """A block that reads a part of a job. If the part can't be read, the page says so, and shows the rest."""
    try:
        yield
    except (Corrupted, MissingKey) as error:
        notes.append(f"Its {what} can't be read: {problem_of(error).text}")


async def _steps(coordinator: Coordinator, info: JobInfo, before: str) -> list[CheckpointSummary]:
    """Its checkpoints, newest first, and one more than are shown, if there is one. (A job's own thread has no other
    job's checkpoints.)"""
    whose = None if info.thread == info.id else info.id
    return await coordinator.timeline(info.thread, limit=_STEPS + 1, before=before or None, job=whose)


def _page(found: Sequence[JobInfo], limit: int = PAGE) -> JobsPage:
    lines = tuple(Line(info, shown(said) if (said := _says(info)) else None) for info in found[:limit])
    return JobsPage(lines, found[limit - 1].id if len(found) > limit else None)


def _says(info: JobInfo) -> str | None:
    if info.unreadable:
        return f"its {' and '.join(info.unreadable)} can't be read"
    return trouble(info)


def _facts(info: JobInfo, waits_for: str | None) -> Iterator[Fact]:
    if waits_for:
        yield Fact("Waits for", waits_for)
    yield Fact("Contract", str(info.contract))
    yield Fact("Hop", f"{info.hop}, attempt {info.attempt}")
    if lost := died(info.crashes):
        yield Fact("Crashes", lost)
    if info.lease:
        yield Fact("Worker", info.lease.worker)
        yield Fact("Lease until", at=info.lease.expires_at)
    yield Fact("Submitted", at=info.created_at)
    yield Fact("Last change", at=info.updated_at)
    for label, at in (("Due", info.due_at), ("Expires", info.expires_at), ("Deadline", info.deadline)):
        if at:
            yield Fact(label, at=at)
    if info.thread != info.id:
        yield Fact("Thread", info.thread, href=f"/ui/jobs?{urlencode({'thread': info.thread})}")
    if info.key:
        yield Fact("Key", info.key)
    if info.priority != "normal":
        yield Fact("Priority", info.priority)
    if info.parent:
        yield Fact("Child of", info.parent, href=f"/ui/jobs/{info.parent}")
    if info.children:
        told = f"{info.children.done} done, {info.children.failed} lost"
        yield Fact("Children", f"{plural(info.children.total, 'job')}: {told}", href=f"/ui/jobs?parent={info.id}")
    if info.checkpoint_id:
        yield Fact("Checkpoint", info.checkpoint_id, href=f"/ui/checkpoints/{info.checkpoint_id}")
    if spent := limits({name: number for name, number in asdict(info.spent).items() if number}):
        yield Fact("Spent", spent)
    yield Fact("Guard", limits(asdict(info.guard)))
