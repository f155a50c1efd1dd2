"""A list of all dead letters, while another program acts on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from batonpass.contracts.errors import NotFound
from batonpass.coordinator.calls import dead
from batonpass.coordinator.commands import DeleteJob, Fail, Redrive
from tests.harness.bench import Bench, fence_of


def fail(bench: Bench, number: int) -> set[str]:
    """Jobs that failed."""
    for _ in range(number):
        bench.submit()
    fences = [fence_of(each) for each in bench.claim(number)]
    for fence in fences:
        bench.do(Fail(fence, "permanent", "no"))
    return {fence.job_id for fence in fences}


def read(bench: Bench, meanwhile: Callable[[list[str]], None]) -> list[str]:
    """The ids in the list. Something happens after its first page."""
    call = dead.page(None, None, 2**31)
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

    assert set(read(bench, delete)) == failed


def test_the_last_one_of_a_page_is_redriven(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead, "_PAGE", 10)
    failed = fail(bench, 25)
    found = read(bench, lambda page: bench.do(Redrive(page[-1])))
    assert len(found) == len(failed)
    assert set(found) == failed
