"""Checkpoints of values in many pieces: each command frees a bounded number of spans, and the call goes on."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from batonpass.coordinator import commands as c
from batonpass.coordinator.parts import share
from batonpass.coordinator.snapshots import open_checkpoint
from tests.harness.bench import MINUTE, Bench
from tests.harness.texts import words

_Step = Callable[[Bench, list[str]], c.Freed]


@pytest.fixture(autouse=True)
def _stays_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value in many pieces is written anew now and then."""

    def never(*_: object) -> bool:
        return False

    monkeypatch.setattr(share, "_is_due", never)


def _saved(bench: Bench, thread: str, **more: float) -> list[str]:
    """Checkpoints of a history from which each third message was dropped: of about 100 spans each."""
    chance = random.Random(5)
    face, said = bench.face(), [words(chance, 800) for _ in range(300)]
    bench.run(face.save(thread=thread, agent="write", state={"said": said}))
    said = [each for at, each in enumerate(said) if at % 3]
    for _ in range(9):
        bench.run(face.save(thread=thread, agent="write", state={"said": said}, **more))
        said = [*said, words(chance, 60)]
    rows = bench.line(thread)
    assert sum(row.commit.count(":") // 2 > 90 for row in rows) == 9
    return [row.id for row in reversed(rows)]


_STEPS: dict[str, _Step] = {
    "prune": lambda bench, _: bench.do(c.Prune("run", keep_last=1)),
    "drop": lambda bench, ids: bench.do(c.Drop("run", tuple(ids[:-1]))),
    "delete": lambda bench, _: bench.do(c.DeleteThread("run")),
}


@pytest.mark.parametrize("how", _STEPS)
def test_a_command_frees_some_hundred_spans(bench: Bench, how: str) -> None:
    """Others waited for half a second for one script, because it freed a hundred checkpoints of hundreds of spans."""
    ids = _saved(bench, "run")
    first = _STEPS[how](bench, ids)
    assert (first.count, first.next) == (6, 0 if how == "delete" else 6)
    assert [row.id for row in bench.line("run")] == ids[:5:-1]
    assert len(open_checkpoint(bench.do(c.Restore(ids[6]))).state["said"]) == 205
    again = _STEPS[how](bench, ids)
    assert (again.count, again.next) == (4 if how == "delete" else 3, -1)


def test_calls_go_on_until_all_are_freed(bench: Bench) -> None:
    face = bench.face()
    ids = _saved(bench, "run")
    assert bench.run(face.prune("run", keep_last=1)) == 9
    assert [row.id for row in bench.line("run")] == ids[-1:]
    assert len(open_checkpoint(bench.do(c.Restore(ids[-1]))).state["said"]) == 208
    _saved(bench, "other")
    assert bench.run(face.delete("other")) == 10
    assert bench.run(face.prune("run", keep_last=0)) == 1
    assert bench.harness.logs() == {}


def test_what_has_expired_is_freed_in_steps(bench: Bench) -> None:
    _saved(bench, "run", ttl=60)
    bench.clock.advance(2 * MINUTE)
    freed = list[tuple[int, int]]()
    for _ in range(3):
        again = bench.do(c.Reap()).next_due  # a worker goes on in 1 ms, without waiting for its next round
        freed.append((bench.happened("run").count("checkpoint.expired"), again))
    assert freed == [(5, 1), (9, -1), (9, -1)]


@pytest.mark.one_partition
def test_jobs_are_pruned_in_steps(bench: Bench) -> None:
    for _ in range(3):
        fence = bench.start()
        bench.do(c.Complete(fence, b"result"))
        _saved(bench, fence.job_id)
    bench.clock.advance(10 * MINUTE)
    left = list[int]()
    for _ in range(8):
        bench.do(c.PruneJobs(MINUTE))
        left.append(len(bench.do(c.ListJobs())))
    assert left == [3, 2, 2, 1, 1, 0, 0, 0]
    assert bench.harness.logs() == {}
