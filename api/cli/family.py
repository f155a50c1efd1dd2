"""Which of all dead letters are redriven: a parent has its children go on, so some of a family wait for others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from batonpass.contracts.errors import NotFound
from batonpass.contracts.job import CHILDREN, JobInfo, JobState
from batonpass.coordinator.sync_client import SyncCoordinator


@dataclass(frozen=True)
class Choice:
    """Jobs to redrive. Of the others that were wanted: children left to their parents, and parents that wait for a
    child."""

    jobs: list[str]
    left: dict[str, str] = field(default_factory=dict[str, str])
    waits: dict[str, str] = field(default_factory=dict[str, str])


def chosen(coordinator: SyncCoordinator, letters: list[JobInfo], wanted: Collection[str]) -> Choice:
    """Choose from those dead letters that are wanted. `letters` are all that there are."""
    left, waits = (
        {job: other for job, other in held_back.items() if job in wanted}
        for held_back in _held_back(coordinator, letters)
    )
    return Choice([info.id for info in letters if info.id in wanted and info.id not in {*left, *waits}], left, waits)


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
