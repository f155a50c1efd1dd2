"""Answers: the forms of what the service gives, besides the ones that every list has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from batonpass.contracts.checkpoint import CheckpointSummary
from batonpass.contracts.event import Event
from batonpass.contracts.job import JobInfo


@dataclass(frozen=True, kw_only=True)
class ShownJob(JobInfo):
    """A job with its payload, or null if that can't be read, its result, or null if it has none (yet), and what it
    waits for, or null if a worker runs it or it has ended."""

    waits_for: str | None
    payload: Mapping[str, Any] | None
    result: Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class ShownCheckpoint(CheckpointSummary):
    """A checkpoint with its state."""

    state: Any


@dataclass(frozen=True)
class EventPage:
    """Events, oldest first, and the cursor to pass as `after` for what follows them. There may be more events even if
    the page is empty."""

    events: list[Event]
    after: str


@dataclass(frozen=True)
class Submitted:
    """The job that was submitted, or an earlier one that has the same key."""

    id: str


@dataclass(frozen=True)
class Answered:
    """The job whose question was answered."""

    id: str
    answered: Any


@dataclass(frozen=True)
class Canceled:
    """A job, and whether this canceled it. If not, it had ended before."""

    id: str
    canceled: bool


@dataclass(frozen=True)
class RunNow:
    """A job, and whether this made it ready. If not, it was ready, or at work, before."""

    id: str
    run_now: bool


@dataclass(frozen=True)
class Redriven:
    """A job that continues."""

    id: str
    redriven: bool = True


@dataclass(frozen=True)
class Made:
    """What was made: a checkpoint, or a job."""

    id: str


@dataclass(frozen=True)
class Named:
    """A checkpoint and its name, or null if it has none any more."""

    id: str
    name: str | None


@dataclass(frozen=True)
class RolledBack:
    """The new checkpoint at the thread's tip, and the one whose state it has."""

    id: str
    to: str


@dataclass(frozen=True)
class DeletedThread:
    """A thread that is gone, and how many checkpoints and jobs it had."""

    thread: str
    checkpoints: int
    jobs: int


@dataclass(frozen=True)
class DeletedJob:
    """A job that is gone."""

    id: str
    deleted: bool = True


@dataclass(frozen=True)
class Scheduled:
    """A schedule that was added or changed."""

    name: str


@dataclass(frozen=True)
class Paused:
    """A schedule, and whether it rests."""

    name: str
    paused: bool


@dataclass(frozen=True)
class PausedAgent:
    """An agent, whether it is paused now, and whether this changed that."""

    agent: str
    paused: bool
    changed: bool


@dataclass(frozen=True)
class Unscheduled:
    """A schedule that is gone."""

    name: str
    removed: bool = True


@dataclass(frozen=True)
class Alive:
    """The service can work."""

    ok: bool = True
