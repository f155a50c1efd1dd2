"""A list of all jobs, or of all dead letters, while another program acts on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from batonpass.contracts.errors import NotFound
from batonpass.coordinator.calls import dead, jobs
from batonpass.coordinator.commands import Cancel, DeleteJob, Fail, Redrive
from tests.harness.bench import Bench, fence_of


def fail(bench: Bench, number: int) -> set[str]:
    """Jobs that failed."""
    for _ in range(number):
        bench.submit()
    fences = [fence_of(each) for each in bench.claim(number)]
    for fence in fences:
        bench.do(Fail(fence, "permanent", "no"))
    return {fence.job_id for fence in fences}


def read(bench: Bench, call: Any, meanwhile: Callable[[list[str]], None]) -> list[str]:
    """The ids in a list. Something happens after its first page."""
    acted = False
    asked: Any = next(call)
    while True:
        try:
            rows = bench.do(asked)
        except NotFound as error:
            answer: Any = error
        else:
            answer = rows
            if not acted:
                meanwhile([row.id for row in rows])
                acted = True
        try:
            asked = call.throw(answer) if isinstance(answer, NotFound) else call.send(answer)
        except StopIteration as end:
            return [info.id for info in end.value]


@pytest.mark.parametrize("gone", [1, 3, 10])
def test_the_last_ones_of_a_page_are_deleted(bench: Bench, gone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead, "_PAGE", 10)
    failed = fail(bench, 25)

    def delete(page: list[str]) -> None:
        for job in page[-gone:]:
            bench.do(DeleteJob(job))

    assert set(read(bench, dead.page(None, None, 2**31), delete)) == failed


def test_the_last_one_of_a_page_is_redriven(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead, "_PAGE", 10)
    failed = fail(bench, 25)
    found = read(bench, dead.page(None, None, 2**31), lambda page: bench.do(Redrive(page[-1])))
    assert len(found) == len(failed)
    assert set(found) == failed


@pytest.mark.parametrize("wanted", [25, 2**31])
def test_some_are_redriven_and_fail_again(bench: Bench, wanted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are the last that failed then, whether the list had them already or not."""
    monkeypatch.setattr(dead, "_PAGE", 10)
    failed: list[str] = []
    for _ in range(25):
        failed += fail(bench, 1)
        bench.clock.advance(1)

    def fail_again(page: list[str]) -> None:
        for job in (failed[0], page[0]):
            bench.do(Redrive(job))
            bench.do(Fail(bench.take(), "permanent", "no"))
            bench.clock.advance(1)

    found = read(bench, dead.page(None, None, wanted), fail_again)
    assert found == [failed[-1], failed[0], *failed[-2:0:-1]]


@pytest.mark.parametrize("of", [{}, {"state": "canceled"}, {"thread": "t"}], ids=["all", "of a state", "on a thread"])
@pytest.mark.parametrize("gone", [1, 10])
def test_the_last_jobs_of_a_page_are_deleted(
    bench: Bench, of: dict[str, str], gone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of one millisecond, too."""
    monkeypatch.setattr(jobs, "_PAGE", 10)
    made: set[str] = set()
    for number in range(25):
        made.add(job := bench.submit(thread="t" if "thread" in of else ""))
        bench.do(Cancel(job))
        if number % 5 == 0:
            bench.clock.advance(1)

    def delete(page: list[str]) -> None:
        for job in page[-gone:]:
            bench.do(DeleteJob(job))

    found = read(bench, jobs.page(of.get("state"), None, 2**31, thread=of.get("thread")), delete)
    assert len(found) == len(made)
    assert set(found) == made
