"""A worker that was frozen past its lease is a zombie when it wakes: it may write nothing more.

SIGSTOP comes in the middle of a step, another worker takes over the job and finishes it, then SIGCONT. Either a
heartbeat or the agent's code learns first that the lease is over, so the zombie is either stopped before its next
write, or refused at it. In both cases the job's record, events and checkpoints stay as they were, byte for byte.
"""

from __future__ import annotations

import importlib
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator import commands as c
from batonpass.coordinator.book import target
from batonpass.coordinator.snapshots import draft

from .harness import Run, Zygote, wait_for

# The agent, and the piece of its work in the middle of which its worker freezes.
CASES = {
    "function": ("async", "async:more:1"),
    "langgraph": ("line", "line:second"),
    "crewai": ("line", "line.two"),
    "autogen": ("review", "author:2"),
}


def kept(coordinator: bp.SyncCoordinator, thread: str) -> Mapping[str, list[Any]]:
    """All that the store keeps of the job, as stored."""
    store = coordinator.store
    return {
        "jobs": store.call(c.ListJobs(1000)),
        "events": store.call(c.Events(limit=10_000)),
        "checkpoints": [store.call(c.Restore(row.id)) for row in store.call(c.Timeline(thread, 1000))],
    }


def writes(fence: c.Fence, thread: str) -> list[c.Command[Any]]:
    """Everything that a holder of the lease could write."""
    new = draft(Snapshot(step="zombie", state={}), thread=thread, agent="zombie").new
    onward = target("zombie", bp.ContractRef("zombie", 1), b"zombie")
    return [
        c.Save(thread=thread, checkpoint=new, fence=fence),
        c.Record(fence, {"zombie": b"zombie"}),
        c.HandOff(fence, onward, new),
        c.Complete(fence, b"zombie", new),
        c.Fail(fence, "zombie", "zombie"),
        c.Fail(fence, "zombie", "", 1),
        c.Suspend(fence, b"zombie", new),
        c.Sleep(fence, 1, new),
        c.Release(fence),
    ]


@pytest.fixture(params=["sqlite", "redis"])
def run(
    request: pytest.FixtureRequest, kind: str, zygote: Zygote, new_url: Callable[[str], str], tmp_path: Path
) -> Iterator[Run]:
    """A run whose workers are ended with the test, however it ends."""
    module = importlib.import_module(f"tests.apps.{kind}_app")
    made = Run(zygote, new_url(request.param), tmp_path, module, CASES[kind][0])
    yield made
    for pid in made.pids:
        made.end_worker(pid)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", CASES)
def test_a_woken_zombie_changes_nothing(kind: str, run: Run) -> None:
    agent, label = CASES[kind]
    zombie = run.start_worker(kill=f"pause:{label}")
    with bp.connect(run.url, app=run.module.app) as coordinator:
        job = run.submit(coordinator)
        run.finish(job, until=lambda: "paused" in run.log.read().of(zombie))
        run.freeze(zombie)
        lease, thread = job.info().lease, job.info().thread
        assert lease is not None
        run.start_worker()
        info = run.finish(job)
        assert info.state == bp.JobState.COMPLETED, f"{info}\n{run.output()}"
        assert job.result(timeout=0).model_dump(mode="json") == run.module.EXPECTED[agent]
        assert run.log.read().labels()[label] == 2
        frozen, before = run.log.of(zombie), kept(coordinator, thread)
        assert frozen[-1] == "paused"

        run.wake(zombie)
        said = run.folder / "worker-0.out"
        wait_for(lambda: any(word in said.read_text() for word in ("refused:", "stopped, the lease")), "its insight")
        assert run.end_worker(zombie, signal.SIGTERM) == 0
        after = run.log.read().of(zombie)[len(frozen) :]
        assert [line for line in after if not line.startswith("refused ")] == [], said.read_text()
        for write in writes(c.Fence(job.id, lease.token, lease.id), thread):
            with pytest.raises(bp.Fenced):
                coordinator.store.call(write)
        assert kept(coordinator, thread) == before
