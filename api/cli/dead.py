"""Commands about dead letters: dead-letters, redrive."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from batonpass.contracts.errors import BadSetup, NotFound
from batonpass.contracts.job import JobInfo, JobState
from batonpass.coordinator.sync_client import SyncCoordinator

from .jobs import described, mapping, unreadable
from .options import (
    DEFAULT_NAMESPACE,
    DEFAULT_STORE,
    Additions,
    Changes,
    GuardText,
    Json,
    Namespace,
    Store,
    assignments,
    guarded,
    opened,
)
from .places import Assignment, edited, root
from .printing import print_json, print_table, tell_unreadable

Agent = Annotated[str | None, typer.Option(help="Only jobs at this agent")]
Reason = Annotated[str | None, typer.Option(help="Only with this reason: attempts, contract, poison ...")]


def dead_letters(
    agent: Agent = None,
    reason: Reason = None,
    limit: Annotated[int, typer.Option(help="At most this many", min=1)] = 50,
    before: Annotated[str | None, typer.Option(metavar="JOB", help="Only those that failed before this one")] = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """List failed jobs, the last to fail first. `show JOB` has details, `redrive` retries, `delete JOB` drops one."""
    with opened(store, namespace) as coordinator:
        found = coordinator.dead_letters(agent=agent, reason=reason, limit=limit, before=before)
    if as_json:
        print_json([described(info) for info in found])
        return
    rows = [(info.id, info.reason, info.agent, info.hop, info.updated_at, info.error) for info in found]
    print_table(("JOB", "REASON", "AGENT", "HOP", "FAILED", "ERROR"), rows)
    tell_unreadable("job", unreadable(found))


def redrive(
    jobs: Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Ids of failed jobs")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All failed jobs, or those that match --agent and --reason")
    ] = False,
    agent: Agent = None,
    reason: Reason = None,
    payload: Annotated[str | None, typer.Option(help="Replace the payload: JSON, @FILE or -")] = None,
    changes: Changes = None,
    additions: Additions = None,
    guard: GuardText = None,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Retry failed jobs, each from its last checkpoint. Finished steps don't run again."""
    if bool(jobs) == everything or (jobs and (agent or reason)):
        raise BadSetup("redrive takes the ids of jobs, or --all, which --agent and --reason narrow down")
    if (payload or changes or additions) and (everything or len(jobs or ()) > 1):
        raise BadSetup("--payload, --set and --add are for one job at a time")
    given = None if payload is None else mapping(payload)
    edits = assignments(changes), assignments(additions)
    limits = None if guard is None else guarded(guard)
    with opened(store, namespace) as coordinator:
        found = [] if jobs else coordinator.dead_letters(agent=agent, reason=reason, limit=2**31)
        waits = _waits(found)
        left = {job: parent for job, parent in _left(coordinator, found).items() if job not in waits.values()}
        chosen = jobs or [info.id for info in found if info.id not in {*left, *waits}]
        for job in chosen:
            coordinator.redrive(job, payload=given, changes=_changed(coordinator, job, *edits), guard=limits)
    if as_json:
        print_json({"redriven": chosen, "left": left, "waits": waits})
    else:
        lines = [f"redriven {job}" for job in chosen]
        lines += [f"left {job} to its parent, {parent}" for job, parent in left.items()]
        lines += [f"left {job} until {child} has ended" for job, child in waits.items()]
        typer.echo("\n".join(lines) or "there are no such dead letters")


def _waits(found: list[JobInfo]) -> dict[str, str]:
    """The parents among these that are not redriven before one of these children has ended: an effect of the child may
    have happened, so that no other is made in its place."""
    letters = {info.id: info for info in found}
    waits: dict[str, str] = {}
    for info in found:
        above = letters.get(info.parent or "") if info.reason == "ambiguous" else None
        while above is not None:
            waits[above.id] = info.id
            above = letters.get(above.parent or "")
    return waits


def _left(coordinator: SyncCoordinator, found: list[JobInfo]) -> dict[str, str]:
    """The children among these that are of no use, with their parents: those make them again if they are redriven, or
    have ended without them, or are gone."""
    ids = {info.id for info in found}
    useful: dict[str, bool] = {}
    for parent in {info.parent for info in found if info.parent}:
        try:
            state = coordinator.job(parent).info().state
            useful[parent] = parent not in ids and (not state.ended or state is JobState.FAILED)
        except NotFound:
            useful[parent] = False
    return {info.id: info.parent for info in found if info.parent and not useful[info.parent]}


def _changed(
    coordinator: SyncCoordinator, job: str, changes: list[Assignment], additions: list[Assignment]
) -> dict[str, Any]:
    """The values of a job's state that contain an edit, by name."""
    at = coordinator.job(job).info().checkpoint_id if changes or additions else None
    state: Any = edited(coordinator.restore(at).state if at else {}, changes, additions)
    return {name: state[name] for name in map(root, dict([*changes, *additions]))}
