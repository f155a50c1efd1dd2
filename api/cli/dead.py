"""Commands about dead letters: dead-letters, redrive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

import typer

from batonpass.contracts.errors import BadSetup, BatonpassError, NotFound, ThreadBusy, WrongState
from batonpass.contracts.guard import Guard
from batonpass.contracts.job import FailureReason, JobInfo, JobState
from batonpass.coordinator.calls import drive
from batonpass.coordinator.calls.dead import state_of
from batonpass.coordinator.calls.doubt import RESULT
from batonpass.coordinator.paths import Assignment, edited, root
from batonpass.coordinator.refusals import refusal
from batonpass.coordinator.sync_client import SyncCoordinator

from .agents import tell_undeclared
from .family import Choice, chosen
from .jobs import described, mapping, unreadable
from .options import (
    DEFAULT_NAMESPACE,
    DEFAULT_STORE,
    Additions,
    Changes,
    GuardText,
    Json,
    Namespace,
    Since,
    Store,
    Until,
    assignments,
    guarded,
    opened,
    past,
)
from .printing import print_json, print_table, say, tell_more, tell_unreadable
from .several import done_to, tell

Agent = Annotated[str | None, typer.Option(help="Only jobs at this agent")]
NARROWING = "--agent, --reason, --since and --until"
_NOT_ASKED_FOR = (
    "for which its parent, {parent}, does not ask any more: `batonpass redrive {job}` runs it alone, `batonpass delete "
    "{job}` drops it"
)
Reason = Annotated[FailureReason | None, typer.Option(help="Only those that failed for this reason")]


def dead_letters(
    agent: Agent = None,
    reason: Reason = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(help="At most this many", min=1)] = 50,
    before: Annotated[str | None, typer.Option(metavar="JOB", help="Only those that failed before this one")] = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """List failed jobs, the last to fail first. `show JOB` has details, `redrive` retries, `delete JOB` drops one."""
    with opened(store, namespace) as coordinator:
        wanted = limit if as_json else limit + 1
        found = chosen_letters(coordinator, agent, reason, since, until, limit=wanted, before=before)
        tell_undeclared(coordinator, agent, found)
    if as_json:
        print_json([described(info) for info in found])
        return
    rows = [(info.id, info.reason, info.agent, info.hop, info.updated_at, info.error) for info in found[:limit]]
    print_table(("JOB", "REASON", "AGENT", "HOP", "FAILED", "ERROR"), rows)
    tell_unreadable("job", unreadable(found[:limit]))
    tell_more(found, limit, "--before")


def redrive(
    jobs: Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Ids of failed jobs")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All failed jobs, or those that match --agent, --reason, --since and --until")
    ] = False,
    agent: Agent = None,
    reason: Reason = None,
    since: Since = None,
    until: Until = None,
    payload: Annotated[str | None, typer.Option(help="Replace the payload: JSON, @FILE or -")] = None,
    changes: Changes = None,
    additions: Additions = None,
    not_done: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="An effect that has not happened: it is called again")
    ] = None,
    lost_children: Annotated[
        bool,
        typer.Option("--lost-children", help="Its children that failed go on, whatever it has done since about that"),
    ] = False,
    guard: GuardText = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Retry failed jobs, each from its last checkpoint. Finished steps don't run again."""
    narrowed = any((agent, reason, since, until))
    if bool(jobs) == everything or (jobs and narrowed):
        raise BadSetup(f"redrive takes the ids of jobs, or --all, which {NARROWING} narrow down")
    if (payload or changes or additions or not_done or lost_children) and (everything or len(jobs or ()) > 1):
        raise BadSetup("--payload, --set, --add, --not-done and --lost-children are for one job at a time")
    edit = _Edit(
        None if payload is None else mapping(payload),
        assignments(changes),
        assignments(additions),
        not_done or [],
        lost_children,
        None if guard is None else guarded(guard),
    )
    with opened(store, namespace) as coordinator:
        if jobs:
            infos = _checked(coordinator, jobs)
            choice, mistyped = Choice([info.id for info in infos]), False
            if not lost_children:
                _tell_lost(infos)
        else:
            letters = coordinator.dead_letters(limit=2**31)
            wanted = chosen_letters(coordinator, agent, reason, since, until) if narrowed else letters
            mistyped = tell_undeclared(coordinator, agent, [info for info in letters if info.agent == agent])
            choice = chosen(coordinator, letters, {info.id for info in wanted})
        retry = _Retry(coordinator, edit, everything)
        done, stopped = done_to(choice.jobs, retry)
    _tell_redriven(done, choice, retry, stopped, as_json=as_json)
    if mistyped:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Edit:
    """What a redrive changes in a job."""

    payload: Any
    changes: list[Assignment]
    additions: list[Assignment]
    not_done: list[str]
    lost_children: bool
    guard: Guard | None


@dataclass
class _Retry:
    """Redrives a job. Of many, those that can't be now are passed over."""

    coordinator: SyncCoordinator
    edit: _Edit
    everything: bool
    busy: dict[str, str] = field(default_factory=dict[str, str])
    gone: set[str] = field(default_factory=set[str])

    def __call__(self, job: str) -> None:
        edit = self.edit
        try:
            changes, added = _changed(self.coordinator, job, edit.changes, edit.additions)
            self.coordinator.redrive(
                job,
                payload=edit.payload,
                changes=changes,
                guard=edit.guard,
                not_done=edit.not_done,
                add=added,
                lost_children=edit.lost_children,
            )
        except ThreadBusy as other:
            if not self.everything:
                raise
            self.busy[job] = other.job_id  # mostly another of these jobs: it must not keep the rest from being redriven
        except (NotFound, WrongState):
            if not self.everything or _is_dead(self.coordinator, job):
                raise
            self.gone.add(job)  # others deleted it, or redrove it, since it was listed


def _tell_redriven(
    done: Iterable[str], choice: Choice, retry: _Retry, stopped: BatonpassError | None, *, as_json: bool
) -> None:
    redriven = [job for job in done if job not in {*retry.busy, *retry.gone}]
    lines = [f"redriven {job}" for job in redriven]
    lines += [f"left {job} to its parent, {parent}" for job, parent in choice.left.items()]
    lines += [f"left {job}, {_NOT_ASKED_FOR.format(job=job, parent=parent)}" for job, parent in choice.alone.items()]
    lines += [f"left {job} until {child} has completed" for job, child in choice.waits.items()]
    lines += [f"left {job} until {other} has ended, which runs on its thread" for job, other in retry.busy.items()]
    waits = {**choice.waits, **retry.busy}
    about = {"redriven": redriven, "left": choice.left, "not_asked_for": choice.alone, "waits": waits}
    tell(about, lines or ["there are no such dead letters"], stopped, as_json=as_json)


def chosen_letters(
    coordinator: SyncCoordinator,
    agent: str | None,
    reason: FailureReason | None,
    since: str | None,
    until: str | None,
    *,
    limit: int = 2**31,
    before: str | None = None,
) -> list[JobInfo]:
    """The dead letters that match the options of a command."""
    first, end = past(since, "--since"), past(until, "--until")
    return coordinator.dead_letters(agent=agent, reason=reason, since=first, until=end, limit=limit, before=before)


def _checked(coordinator: SyncCoordinator, jobs: list[str]) -> list[JobInfo]:
    """These jobs, each once. Refused if one of them can't be redriven, before any of them is."""
    infos = [coordinator.job(job).info() for job in dict.fromkeys(jobs)]
    for info in infos:
        if info.state is not JobState.FAILED:
            raise refusal("not_failed", info.id, info.state)
    return infos


def _tell_lost(infos: Iterable[JobInfo]) -> None:
    for info in infos:
        if info.reason == "attempts" and info.children and (lost := info.children.failed):
            children = "a child" if lost == 1 else f"{lost} children"
            say(f"{info.id} goes on without {children} that it lost: --lost-children has them go on, too", err=True)


def _is_dead(coordinator: SyncCoordinator, job: str) -> bool:
    """Whether the job is there, and a dead letter."""
    try:
        return coordinator.job(job).info().state is JobState.FAILED
    except NotFound:
        return False


def _changed(
    coordinator: SyncCoordinator, job: str, changes: list[Assignment], additions: list[Assignment]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of a job's state that contain an edit, by name, with the results of effects, and the new values."""
    given = [*changes, *additions]
    effects = {place: value for place, value in given if place.startswith(RESULT)}
    changes, additions = ([each for each in some if each[0] not in effects] for some in (changes, additions))
    held = drive(coordinator.store, state_of(coordinator.book, job)) if changes or additions else None
    names = set(cast("dict[str, Any]", held)) if isinstance(held, dict) else set[str]()
    state: Any = edited({} if held is None else held, changes, additions)
    after = {name: state[name] for name in map(root, dict([*changes, *additions]))}
    old = {name: value for name, value in after.items() if name in names}
    return old | effects, {name: value for name, value in after.items() if name not in old}
