"""kill -9 in the middle of pruning, deleting and moving pages out of the log: nothing is lost, nor left over."""

from __future__ import annotations

from pathlib import Path

import batonpass as bp
from batonpass.coordinator import commands as c
from tests.harness.leftovers import leftovers
from tests.sqlite.beside import run, said, sound

# Saves, prunes, forks and deletes without an end; says what was acknowledged.
_WORKS = """
import random, sys
import batonpass as bp
from batonpass.coordinator.sqlite import wal
wal.LARGE, wal._AGAIN, wal._COMMITS = 300_000, 0.0, 8
chance, run = random.Random(sys.argv[2]), sys.argv[2]
messages = []
with bp.connect(sys.argv[1]) as coordinator:
    for number in range(1_000_000):
        messages = [*messages[-40:], "w" * chance.randrange(3000)]
        saved = coordinator.save(thread="talk", agent="a", state={"messages": messages}).id
        print(saved, flush=True)
        if number % 3 == 0:
            coordinator.prune("talk", keep_last=3)
        coordinator.fork(saved, thread=f"fork {run} {number}", changes={"n": number})
        if number > 4:
            coordinator.delete(f"fork {run} {number - 4}")
"""


def test_nothing_is_lost_or_left_over(path: Path) -> None:
    url = f"sqlite:///{path}"
    for kill in range(2):
        worker = run(_WORKS, url, kill)
        acknowledged = [said(worker) for _ in range(40 + 7 * kill)]
        worker.kill()
        assert worker.stdout is not None
        acknowledged += worker.stdout.read().split()  # it may have continued, and pruned the last ones
        worker.communicate()
        with bp.connect(url) as coordinator:
            there = [row.id for row in coordinator.timeline(thread="talk")]
            assert acknowledged[-1] in there
            for id_ in there:
                coordinator.restore(id_)
        assert sound(path)
    with bp.connect(url) as coordinator:
        for thread in coordinator.store.call(c.Threads(1000)):
            coordinator.delete(thread)
    assert leftovers(url) == []
