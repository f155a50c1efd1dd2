"""Which of all dead letters are redriven: a parent has its children go on, so some of a family wait for others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from batonpass.contracts.errors import NotFound
from batonpass.contracts.job import CHILDREN, ENDED, JobInfo, JobState
from batonpass.coordinator.calls import drive
from batonpass.coordinator.calls.jobs import look
from batonpass.coordinator.rows import JobRow
from batonpass.coordinator.sync_client import SyncCoordinator


@dataclass(frozen=True)
class Choice:
    """Jobs to redrive. Of the others that were wanted: children left to their parents, children whose parents ask for
    them no more, and parents that wait for a child."""

    jobs: list[str]
    left: dict[str, str] = field(default_factory=dict[str, str])
    alone: dict[str, str] = field(default_factory=dict[str, str])
    waits: dict[str, str] = field(default_factory=dict[str, str])


def chosen(coordinator: SyncCoordinator, letters: list[JobInfo], wanted: Collection[str]) -> Choice:
    """Choose from those dead letters that are wanted. `letters` are all that there are."""
    left, alone, waits = (
        {job: other for job, other in held_back.items() if job in wanted}
        for held_back in _held_back(coordinator, letters)
    )
    held = {*left, *alone, *waits}
    # The oldest first: of several jobs of one thread it is that one's turn.
    oldest = sorted(letters, key=lambda info: (info.created_at, info.updated_at))
    return Choice([info.id for info in oldest if info.id in wanted and info.id not in held], left, alone, waits)


def _held_back(
    coordinator: SyncCoordinator, letters: list[JobInfo]
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Of all dead letters, the children that are left to their parents, those whose parents ask for them no more, and
    the parents that have to wait for a child.

    A parent that is redriven has its children go on, those that were canceled, too, unless it had gone on without them.
    One that has ended otherwise, or is gone, asks for none. One that has not ended, and does not wait for a child, may
    yet fail over that. But if an effect of a child may have happened, its parents would only fail again until that is
    settled, if they can't do without it.
    """
    parents = _parents(coordinator, letters)
    asking: set[str | None] = {None, "", *(row.id for row in parents.values() if _asks(row, parents))}
    needing = {row.id for row in parents.values() if not row.spare or row.children - row.done > row.spare}
    left: dict[str, str] = {}
    alone: dict[str, str] = {}
    waits: dict[str, str] = {}
    for info in letters:
        above = _above(info, parents)
        missed = _is_missed(coordinator, info, parents)
        useful = missed and asking.issuperset([info.parent, *(row.parent for row in above)])
        if info.reason == "ambiguous" and useful and all(row.id in needing for row in above):
            waits |= {row.id: info.id for row in above if row.state == JobState.FAILED}
        elif info.parent not in asking:
            alone[info.id] = str(info.parent)
        elif info.parent and (above or not useful):
            left[info.id] = info.parent
    for held_back in (left, alone):
        for parent in held_back.keys() & waits.keys():
            del held_back[parent]
    return left, alone, waits


def _parents(coordinator: SyncCoordinator, letters: list[JobInfo]) -> dict[str, JobRow]:
    """The parents of dead letters, and those of parents that were canceled, by id."""
    found: dict[str, JobRow] = {}
    wanted = [info.parent for info in letters if info.parent]
    while wanted:
        job = wanted.pop()
        if job not in found and (row := _row(coordinator, job)) is not None:
            found[job] = row
            wanted += [row.parent] if row.state == JobState.CANCELED and row.parent else []
    return found


def _above(info: JobInfo, parents: dict[str, JobRow]) -> list[JobRow]:
    """The jobs above a dead letter that only a redrive has go on, the nearest first."""
    found: list[JobRow] = []
    above = info.parent
    while above and (row := parents.get(above)) and row.state in (JobState.FAILED, JobState.CANCELED):
        found.append(row)
        above = row.parent
    return found


def _is_missed(coordinator: SyncCoordinator, info: JobInfo, parents: dict[str, JobRow]) -> bool:
    """Whether a dead letter's parent, if it has not ended, still waits for the fan-out that this child is of."""
    row = parents.get(info.parent or "")
    if row is None or row.state in ENDED:
        return True
    child = _row(coordinator, info.id)
    return child is None or (not row.verdict and child.brood == row.fan)


def _row(coordinator: SyncCoordinator, job: str) -> JobRow | None:
    try:
        return drive(coordinator.store, look(job))
    except NotFound:
        return None


def _asks(parent: JobRow, parents: dict[str, JobRow]) -> bool:
    """Whether a parent, redriven if it has failed, may still ask for children. One that was canceled goes on if its own
    parent asks for it."""
    if parent.state == JobState.FAILED:
        return parent.verdict == "cut" or parent.reason == CHILDREN
    if parent.state == JobState.CANCELED:
        above = parents.get(parent.parent)
        return above is not None and _asks(above, parents)
    return parent.state not in ENDED
