"""Commands about several jobs: a mistake in one touches none of them, and if one fails, what was done is told."""

from __future__ import annotations

import pytest
from anyio.from_thread import start_blocking_portal

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator.job import SyncJob

from ..workers.serving import DEADLINE, Ask, Reply, only, serving
from .commandline import CommandLine, Ran


def fail(ask: Ask) -> Reply:
    raise ValueError("no")


app = only(fail, retries=1)
UNKNOWN = mint("j")


@pytest.fixture
def run(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
    return CommandLine(store_url, capsys, monkeypatch)


@pytest.fixture
def dead(run: CommandLine) -> list[str]:
    """Three failed jobs. The one in the middle can't be redriven, because another job has taken over its thread."""
    with bp.connect(run.url, app=app) as coordinator:
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, run.url)):
            jobs = [coordinator.submit("a", Ask(), thread=thread) for thread in ("t", "u", "v")]
            for job in jobs:
                with pytest.raises(bp.JobFailed):
                    job.result(timeout=DEADLINE)
        coordinator.submit("a", Ask(), thread="u")
    return [job.id for job in jobs]


def states(run: CommandLine, jobs: list[str]) -> list[str]:
    with bp.connect(run.url) as coordinator:
        return [coordinator.job(job).info().state for job in jobs]


def test_with_an_unknown_job_none_is_canceled(run: CommandLine) -> None:
    job = run("submit", "a", "{}").out.strip()
    for order in ((job, UNKNOWN), (UNKNOWN, job)):
        for options in ([], ["--json"]):
            assert run("cancel", *order, *options).complaint.startswith(f"there is no job {UNKNOWN}")
    assert states(run, [job]) == ["submitted"]


def test_what_was_canceled_is_told_also_if_another_fails(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = (run("submit", "a", "{}").out.strip() for _ in range(3))
    cancel = SyncJob.cancel

    def breaks(job: SyncJob[object]) -> bool:
        if job.id == second:
            raise bp.Unreachable("the store is away")
        return cancel(job)

    with monkeypatch.context() as patch:
        patch.setattr(SyncJob, "cancel", breaks)
        told = run("cancel", first, second, third)
        assert told == Ran(2, f"canceled {first}\n", "batonpass: the store is away\n")
        told = run("cancel", third, second, "--json")
        assert (told.code, told.err) == (2, "batonpass: the store is away\n")
        assert told.json == {"error": "the store is away", "type": "Unreachable", "fields": [], "canceled": [third]}
    assert states(run, [first, second, third]) == ["canceled", "submitted", "canceled"]


def test_a_job_that_is_named_twice_is_canceled_once(run: CommandLine) -> None:
    job = run("submit", "a", "{}").out.strip()
    assert run("cancel", job, job).out == f"canceled {job}\n"


def test_with_a_job_that_has_not_failed_none_is_redriven(run: CommandLine, dead: list[str]) -> None:
    waiting = run("submit", "a", "{}").out.strip()
    for bad, says in ((UNKNOWN, f"there is no job {UNKNOWN}"), (waiting, "only a failed job can be redriven")):
        for options in ([], ["--json"]):
            assert says in run("redrive", dead[0], bad, *options).complaint
    assert states(run, dead) == ["failed"] * 3


def test_what_was_redriven_is_told_also_if_another_fails(run: CommandLine, dead: list[str]) -> None:
    told = run("redrive", dead[0], dead[1], dead[2])
    assert (told.code, told.out, "'u' is in use by job" in told.err) == (2, f"redriven {dead[0]}\n", True)
    assert states(run, dead) == ["submitted", "failed", "failed"]
    told = run("redrive", dead[2], dead[1], "--json")
    assert (told.code, "'u' is in use by job" in told.json["error"]) == (2, True)
    assert told.json["redriven"] == [dead[2]]
    alone = run("redrive", dead[1], "--json").json
    assert "redriven" not in alone


def test_jobs_that_wait_for_their_time_are_run_now(run: CommandLine) -> None:
    first, second = (run("submit", "a", "{}", "--delay", "1h").out.strip() for _ in range(2))
    assert run("run-now", first, UNKNOWN).complaint.startswith(f"there is no job {UNKNOWN}")
    with bp.connect(run.url) as coordinator:
        assert coordinator.job(first).info().reason == "scheduled"
    assert run("run-now", first).out == f"{first} is ready\n"
    assert run("run-now", first, second).out == f"{first} is ready or running already\n{second} is ready\n"
    assert run("run-now", first, "--json").json == {"run_now": []}
    run("cancel", first)
    refused = run("run-now", first)
    assert (refused.code, "is canceled: only one that waits" in refused.err) == (2, True)
