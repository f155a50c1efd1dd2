"""A worker that was frozen past its lease is a zombie when it wakes: it may write nothing more.

SIGSTOP in the middle of a step, another worker takes the job over and finishes it, SIGCONT: what the zombie still
writes is refused, and the job's record, events and timeline stay as they were, byte for byte.
"""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import batonpass as bp
from batonpass.contracts.codec import pack
from batonpass.coordinator.commands import Events, ListJobs, Restore, Timeline

from .harness import Run, Zygote, wait_for

# The agent, and the piece of its work in the middle of which its worker freezes.
CASES = {
    "function": [("async", "async:more:1"), ("sync", "sync:second")],
    "langgraph": [("line", "line:second")],
    "crewai": [("pair", "pair.outline")],
    "autogen": [("review", "author:2")],
}


def kept(coordinator: bp.SyncCoordinator, job: bp.SyncJob[bp.Contract]) -> Mapping[str, bytes]:
    """What the store keeps of the job, as bytes."""
    store = coordinator.store
    timeline = store.call(Timeline(job.info().thread, 1000))
    parts = {
        "jobs": store.call(ListJobs(1000)),
        "events": store.call(Events(limit=10_000)),
        "checkpoints": [store.call(Restore(row.id)) for row in timeline],
    }
    return {name: pack([repr(row) for row in rows]) for name, rows in parts.items()}


@pytest.mark.timeout(180)
@pytest.mark.parametrize("store", ["sqlite", "redis"])
@pytest.mark.parametrize(
    ("kind", "agent", "label"), [(kind, *case) for kind, cases in CASES.items() for case in cases]
)
def test_a_woken_zombie_changes_nothing(
    kind: str, agent: str, label: str, store: str, zygote: Zygote, new_url: Callable[[str], str], tmp_path: Path
) -> None:
    module = importlib.import_module(f"tests.apps.{kind}_app")
    run = Run(zygote, new_url(store), tmp_path, module, agent)
    zombie = run.start_worker(kill=f"pause:{label}")
    with bp.connect(run.url, app=module.app) as coordinator:
        job = run.submit(coordinator)
        run.finish(job, until=lambda: "paused" in run.log.read().of(zombie))
        token = job.info().lease
        other = run.start_worker()
        info = run.finish(job)
        assert info.state == bp.JobState.COMPLETED, f"{info}\n{run.output()}"
        assert job.result(timeout=0).model_dump(mode="json") == module.EXPECTED[agent]
        assert token is not None
        assert run.log.read().labels()[label] == 2
        written, before = run.log.of(zombie), kept(coordinator, job)

        os.kill(zombie, signal.SIGCONT)
        wait_for(lambda: over(run, zombie, written), f"the zombie's refusal in {run.log.lines}\n{run.output()}")
        run.end_worker(zombie, signal.SIGTERM)
        assert kept(coordinator, job) == before
    after = run.log.read().of(zombie)[len(written) :]
    assert [line for line in after if line.startswith("ack ")] == []
    assert any(line.startswith("refused ") for line in after), f"{after}\n{run.output()}"
    run.end_worker(other)


def over(run: Run, zombie: int, written: list[str]) -> bool:
    """Whether the zombie knows that its lease is over."""
    return any(line.startswith("refused ") for line in run.log.read().of(zombie)[len(written) :])
