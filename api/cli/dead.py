"""Commands about dead letters: dead-letters, redrive."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from batonpass.contracts.errors import BadSetup, NotFound, ThreadBusy, WrongState
from batonpass.contracts.job import CHILDREN, FailureReason, JobInfo, JobState
from batonpass.coordinator.calls import drive
from batonpass.coordinator.calls.dead import state_of
from batonpass.coordinator.calls.doubt import RESULT
from batonpass.coordinator.paths import Assignment, edited, root
from batonpass.coordinator.refusals import refusal
from batonpass.coordinator.sync_client import SyncCoordinator

from .agents import tell_undeclared
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
from .printing import print_json, print_table, tell_more, tell_unreadable
from .several import done_to, tell

Agent = Annotated[str | None, typer.Option(help="Only jobs at this agent")]
NARROWING = "--agent, --reason, --since and --until"
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
    guard: GuardText = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Retry failed jobs, each from its last checkpoint. Finished steps don't run again."""
    narrowed = any((agent, reason, since, until))
    if bool(jobs) == everything or (jobs and narrowed):
        raise BadSetup(f"redrive takes the ids of jobs, or --all, which {NARROWING} narrow down")
    if (payload or changes or additions or not_done) and (everything or len(jobs or ()) > 1):
        raise BadSetup("--payload, --set, --add and --not-done are for one job at a time")
    given = None if payload is None else mapping(payload)
    edits = assignments(changes), assignments(additions)
    limits = None if guard is None else guarded(guard)
    with opened(store, namespace) as coordinator:
        letters = [] if jobs else coordinator.dead_letters(limit=2**31)
        wanted = chosen_letters(coordinator, agent, reason, since, until) if narrowed else letters
        mistyped = tell_undeclared(coordinator, agent, [info for info in letters if info.agent == agent])
        found = {info.id for info in wanted}
        left, waits = (_only(each, found) for each in _held_back(coordinator, letters))
        chosen = [info.id for info in letters if info.id in found and info.id not in {*left, *waits}]

        busy, gone = dict[str, str](), set[str]()

        def retry(job: str) -> None:
            try:
                edit = _changed(coordinator, job, *edits)
                coordinator.redrive(job, payload=given, changes=edit, guard=limits, not_done=not_done or ())
            except ThreadBusy as other:
                if not everything:
                    raise
                busy[job] = other.job_id  # mostly another of these jobs: it must not keep the rest from being redriven
            except (NotFound, WrongState):
                if not everything or _is_dead(coordinator, job):
                    raise
                gone.add(job)  # others deleted it, or redrove it, since it was listed

        done, stopped = done_to(_checked(coordinator, jobs) if jobs else chosen, retry)
    redriven = [job for job in done if job not in {*busy, *gone}]
    lines = [f"redriven {job}" for job in redriven]
    lines += [f"left {job} to its parent, {parent}" for job, parent in left.items()]
    lines += [f"left {job} until {child} has completed" for job, child in waits.items()]
    lines += [f"left {job} until {other} has ended, which runs on its thread" for job, other in busy.items()]
    about = {"redriven": redriven, "left": left, "waits": {**waits, **busy}}
    tell(about, lines or ["there are no such dead letters"], stopped, as_json=as_json)
    if mistyped:
        raise typer.Exit(1)


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


def _checked(coordinator: SyncCoordinator, jobs: list[str]) -> list[str]:
    """These jobs, each once. Refused if one of them can't be redriven, before any of them is."""
    handles = [coordinator.job(job) for job in dict.fromkeys(jobs)]
    for handle in handles:
        if (state := handle.info().state) is not JobState.FAILED:
            raise refusal("not_failed", handle.id, state)
    return [handle.id for handle in handles]


def _held_back(coordinator: SyncCoordinator, letters: list[JobInfo]) -> tuple[dict[str, str], dict[str, str]]:
    """Of all dead letters, the children that are left to their parents, and the parents that have to wait for a child.

    A parent that is redriven has its children go on, and one that has ended otherwise, or is gone, asks for none. But
    if an effect of a child may have happened, its parents would only fail again until that is settled.
    """
    by_id = {info.id: info for info in letters}
    outside = {info.parent for info in letters if info.parent and info.parent not in by_id}
    asking = {parent for parent in outside if _asks(coordinator, parent)}
    left: dict[str, str] = {}
    waits: dict[str, str] = {}
    for info in letters:
        above = _above(info, by_id)
        useful = (above[-1] if above else info).parent in (None, *asking) and all(map(_broke, above))
        if info.reason == "ambiguous" and useful:
            waits |= {parent.id: info.id for parent in above}
        elif info.parent and (above or not useful):
            left[info.id] = info.parent
    return {job: parent for job, parent in left.items() if job not in waits}, waits


def _above(info: JobInfo, letters: dict[str, JobInfo]) -> list[JobInfo]:
    """The parents of a dead letter that are dead letters, too, the nearest first."""
    found: list[JobInfo] = []
    while (parent := letters.get((found[-1] if found else info).parent or "")) is not None:
        found.append(parent)
    return found


def _broke(info: JobInfo) -> bool:
    return info.reason == CHILDREN


def _asks(coordinator: SyncCoordinator, parent: str) -> bool:
    """Whether a parent may still ask for children."""
    try:
        state = coordinator.job(parent).info().state
    except NotFound:
        return False
    return not state.ended or state is JobState.FAILED


def _is_dead(coordinator: SyncCoordinator, job: str) -> bool:
    """Whether the job is there, and a dead letter."""
    try:
        return coordinator.job(job).info().state is JobState.FAILED
    except NotFound:
        return False


def _only(held_back: dict[str, str], found: set[str]) -> dict[str, str]:
    return {job: other for job, other in held_back.items() if job in found}


def _changed(
    coordinator: SyncCoordinator, job: str, changes: list[Assignment], additions: list[Assignment]
) -> dict[str, Any]:
    """The values of a job's state that contain an edit, by name, and the results of effects."""
    given = [*changes, *additions]
    effects = {place: value for place, value in given if place.startswith(RESULT)}
    changes, additions = ([each for each in some if each[0] not in effects] for some in (changes, additions))
    held = drive(coordinator.store, state_of(coordinator.book, job)) if changes or additions else None
    state: Any = edited({} if held is None else held, changes, additions)
    return {name: state[name] for name in map(root, dict([*changes, *additions]))} | effects
