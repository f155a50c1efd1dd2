"""Jobs that workers have died of run in processes of their own, so that they kill no more workers and no neighbours."""

from __future__ import annotations

import signal

import pytest

import batonpass as bp
from batonpass.coordinator.operations.jobs import POISON, SUSPECT

from .agents import Done, Task
from .families import insist, serving_apart, times, wait_for_end
from .processes import DEADLINE, Desk, WorkerProcess
from .quarantined import app

pytestmark = pytest.mark.timeout(240)
OTHERS = ("a", "b", "c")


def serving(desk: Desk, agents: str, *options: str) -> WorkerProcess:
    return serving_apart(desk, agents, "--lease", "1", *options, app="tests.workers.quarantined:app")


def test_a_job_that_kills_its_workers_is_parked_alone(desk: Desk) -> None:
    with bp.connect(desk.url, app=app) as coordinator:
        coordinator.declare(app)
        others = [coordinator.submit("waits", Task(text=text), returns=Done) for text in OTHERS]
        killer = coordinator.submit("kills", Task(text="now"), returns=Done)
        for number in range(1, SUSPECT + 1):
            worker = serving(desk, "kills,waits")
            for label in ("kills", *(f"{text}:waits" for text in OTHERS)):
                times(desk, label, number)
            desk.open_gate("kill now")
            wait_for_end(worker.pid)
            (desk.folder / "kill now").unlink()
        desk.open_gate("kill now")
        last = serving(desk, "kills,waits")
        insist(killer)
        with pytest.raises(bp.JobFailed) as failed:
            killer.result(timeout=DEADLINE)
        assert failed.value.reason == "poison"
        desk.open_gate("go on")
        ended_in = {job.result(timeout=DEADLINE).words[0] for job in others}
        assert [job.info().crashes for job in others] == [SUSPECT] * len(others)
        healthy = coordinator.submit("waits", Task(text="new"), returns=Done).result(timeout=DEADLINE)
    assert healthy.words == [str(last.pid)]
    killed = [pid for pid, what in desk.lines() if what == "kills"]
    assert (len(killed), last.pid in killed) == (POISON, False)
    assert str(last.pid) not in ended_in


def suspect(desk: Desk, coordinator: bp.SyncCoordinator) -> bp.SyncJob[Done]:
    """A job that will run in a process of its own."""
    coordinator.declare(app)
    job = coordinator.submit("waits", Task(text="a"), returns=Done)
    for number in range(1, SUSPECT + 1):
        worker = serving(desk, "waits")
        times(desk, "a:waits", number)
        worker.kill()
    return job


def test_it_runs_in_the_worker_if_it_can_have_no_process(desk: Desk) -> None:
    with bp.connect(desk.url, app=app) as coordinator:
        job = suspect(desk, coordinator)
        desk.open_gate("one at a time")
        desk.open_gate("go on")
        last = serving(desk, "waits")
        assert job.result(timeout=DEADLINE).words == [str(last.pid)]
    assert "it runs in this worker, because it can't get its own process" in last.said()


def test_a_worker_that_stops_does_not_wait_for_its_process(desk: Desk) -> None:
    with bp.connect(desk.url, app=app) as coordinator:
        job = suspect(desk, coordinator)
        desk.open_gate("one by one")
        last = serving(desk, "waits", "--grace", "600")
        times(desk, "enters", 2)  # the worker, and the process that is being made
        last.send(signal.SIGTERM)
        assert last.exit_code() == 0, last.said()
        assert [event.type for event in coordinator.events(job=job.id)][-1] == "batonpass.job.released"
