"""A pause that several partitions keep: they end with the same, in whatever order two changes reach them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from batonpass.contracts.errors import Unreachable
from batonpass.coordinator import commands as c
from batonpass.coordinator.memory.store import MemoryStore
from batonpass.coordinator.redis import partitions_pauses
from batonpass.coordinator.redis.partitions import partition
from batonpass.coordinator.store import host_clock
from tests.harness.bench import Bench, new_target

COUNT = 3


class Run:
    """A plan that is carried out question by question, on stores in place of partitions."""

    def __init__(self, plan: Any, stores: list[MemoryStore], away: int | None = None) -> None:
        self._plan, self._stores, self._away = plan, stores, away
        self._asked: Any = next(plan)
        self.answer: c.Changed | None = None

    def go_on(self) -> None:
        if self.answer is not None:
            return
        outcomes = [
            Unreachable("away", lasting=False) if at == self._away else self._stores[at].call(command)
            for at, command in self._asked
        ]
        try:
            self._asked = self._plan.send(outcomes)
        except StopIteration as end:
            self.answer = end.value

    def end(self) -> None:
        while self.answer is None:
            self.go_on()


def paused(store: MemoryStore) -> bool:
    return bool(store.call(c.Pauses()))


def pausing(stores: list[MemoryStore], away: int | None = None) -> Run:
    return Run(partitions_pauses.pause(c.PauseAgent("write"), COUNT), stores, away)


def resuming(stores: list[MemoryStore], away: int | None = None) -> Run:
    return Run(partitions_pauses.resume(c.ResumeAgent("write"), COUNT), stores, away)


@pytest.mark.parametrize("first", list(combinations(range(4), 2)))
@pytest.mark.parametrize("begun", [True, False])
def test_a_pause_and_a_resume_that_cross(first: tuple[int, int], begun: bool) -> None:
    """Each takes two steps: to the first partition, which decides, and to the others."""
    stores = [MemoryStore() for _ in range(COUNT)]
    if begun:
        run = pausing(stores)
        for _ in range(2):
            run.go_on()
    runs = (pausing(stores), resuming(stores))
    for at in range(4):
        runs[0 if at in first else 1].go_on()
    for run in runs:
        run.end()  # a resume that changed nothing in the first partition asks the others, too
    pause_is_later = first[0] > min({0, 1, 2} - {*first})
    assert [paused(store) for store in stores] == [pause_is_later] * COUNT


def test_a_call_that_failed_half_way_is_repeated() -> None:
    stores = [MemoryStore() for _ in range(COUNT)]
    for change, after in ((pausing, True), (resuming, False)):
        failed = change(stores, away=2)
        failed.go_on()
        with pytest.raises(Unreachable):
            failed.go_on()
        assert [paused(store) for store in stores] == [after, after, not after]
        again = change(stores)
        again.end()
        assert again.answer is not None
        assert again.answer.now is False
        assert [paused(store) for store in stores] == [after] * COUNT


@pytest.mark.parametrize("resumed_before", [True, False])
def test_a_pause_that_partition_0_lost_is_resumed(resumed_before: bool) -> None:
    """A server that took over may lack the last writes, of this partition alone."""
    stores = [MemoryStore() for _ in range(COUNT)]
    first = MemoryStore()
    if resumed_before:
        first.call(c.PauseAgent("write", at=1))
        first.call(c.ResumeAgent("write", at=2))
    pausing(stores).end()
    stores[0] = first
    again = resuming(stores)
    again.end()
    assert again.answer is not None
    assert again.answer.now
    assert not any(paused(store) for store in stores)
    pausing(stores).end()
    assert all(paused(store) for store in stores)


@pytest.mark.parametrize("behind", [0, 2000])
def test_a_resume_that_partition_0_lost_does_not_keep_a_pause_from_the_others(behind: int) -> None:
    """A server that took over may also have a clock that is behind, and know of no pause at all."""
    stores = [MemoryStore() for _ in range(COUNT)]
    pausing(stores).end()
    [row] = stores[0].call(c.Pauses())
    resuming(stores).end()
    stores[0] = MemoryStore(clock=lambda: host_clock() - behind)
    if not behind:
        stores[0].call(c.PauseAgent("write", at=row.at))
    again = pausing(stores)
    again.end()
    assert again.answer is not None
    assert again.answer.now
    assert all(paused(store) for store in stores)
    resuming(stores).end()
    assert not any(paused(store) for store in stores)


def test_a_resume_by_a_clock_that_is_behind() -> None:
    """The first partition lost a resume, and the pause after it."""
    stores = [MemoryStore() for _ in range(COUNT)]
    for change in (pausing, resuming, pausing):
        change(stores).end()
    stores[0] = MemoryStore(clock=lambda: host_clock() - 2000)
    stores[0].call(c.PauseAgent("write"))
    resuming(stores).end()
    assert not any(paused(store) for store in stores)


def test_every_partition_pauses_and_is_woken(bench: Bench) -> None:
    assert partition(c.Pauses()) == 0
    jobs = {bench.submit() for _ in range(40)}
    assert bench.do(c.PauseAgent("write")).now
    other = bench.submit("review")
    assert bench.claim(40) == []
    assert bench.claim(1, agent="review")[0].job.id == other
    queue = new_target().queue
    assert bench.do(c.ResumeAgent("write", (queue,))).now
    assert {each.job.id for each in bench.claim(40)} == jobs
