"""Commands about many jobs at once: each needs --all, and filters narrow that down."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

import batonpass as bp
from batonpass.cli import dead, family, jobs

from ..workers.serving import serving
from .commandline import CommandLine, kept

pytestmark = pytest.mark.each_store
app = bp.App("bulk")


@app.agent("bad", accepts=bp.State, returns=bp.State, retries=1)
def bad(state: bp.State) -> bp.State:
    raise ValueError("no")


@app.agent("rejecting", accepts=bp.State, returns=bp.State, retries=bp.Retry(never=("ValueError",)))
def rejecting(state: bp.State) -> bp.State:
    raise ValueError("never")


@pytest.fixture
def run(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
    return CommandLine(store_url, capsys, monkeypatch)


def fail(run: CommandLine, *agents: str) -> list[str]:
    """Jobs that failed, in this order."""
    made: list[str] = []
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving(app, run.url)),
        bp.connect(run.url, app=app) as coordinator,
    ):
        for agent in agents:
            job = coordinator.submit(agent, {})
            made.append(job.id)
            with pytest.raises(bp.JobFailed):
                job.result(timeout=30)
    return made


def listed(run: CommandLine, *arguments: str) -> list[str]:
    return [each["id"] for each in run(*arguments, "--json").json]


def test_dead_letters_are_deleted(run: CommandLine) -> None:
    first, second, third = fail(run, "bad", "rejecting", "bad")
    before = kept(run.url)
    for refused in (
        ["delete"],
        ["delete", "--dead-letters"],
        ["delete", "--all"],
        ["delete", first, "--dead-letters", "--all"],
        ["delete", first, "--agent", "bad"],
    ):
        assert "--dead-letters --all" in run(*refused).complaint
    everything = ("delete", "--dead-letters", "--all")
    assert run(*everything, "--until", "1h").out == "there are no such dead letters\n"
    assert run(*everything, "--reason", "attempts", "--agent", "rejecting").out == "there are no such dead letters\n"
    assert kept(run.url) == before
    assert run(*everything, "--reason", "permanent", "--json").json == {"deleted": [second]}
    assert run(*everything, "--agent", "bad", "--since", "1h").out == f"deleted job {third}\ndeleted job {first}\n"
    assert listed(run, "jobs") == []
    assert run("threads", "--json").json == []


def test_a_mistyped_agent_is_code_1(run: CommandLine) -> None:
    """Nothing was done, and a script has to notice."""
    fail(run, "bad")
    before = kept(run.url)
    for command in (["redrive"], ["delete", "--dead-letters"], ["cancel"]):
        ran = run(*command, "--all", "--agent", "bda")
        assert (ran.code, ran.err.partition(":")[2].strip().partition(":")[0]) == (1, "there is no agent 'bda'"), ran
    known = run("redrive", "--all", "--agent", "rejecting")
    assert (known.code, known.out, known.err) == (0, "there are no such dead letters\n", "")
    assert kept(run.url) == before
    assert run("redrive", "--all", "--agent", "bad", "--reason", "contract").code == 0


def test_jobs_are_canceled(run: CommandLine) -> None:
    with bp.connect(run.url, app=app) as coordinator:
        first, second, third = (coordinator.submit(agent, {}).id for agent in ("bad", "rejecting", "bad"))
    before = kept(run.url)
    for refused in (["cancel"], ["cancel", first, "--all"], ["cancel", first, "--agent", "bad"]):
        assert run(*refused).complaint.startswith("cancel takes the ids of jobs, or --all")
    assert "nothing to cancel" in run("cancel", "--all", "--state", "completed").complaint
    assert run("cancel", "--all", "--agent", "bad", "--state", "working").out == "there are no such jobs\n"
    assert run("cancel", "--all", "--until", "1h").out == "there are no such jobs\n"
    assert kept(run.url) == before
    assert set(run("cancel", "--all", "--agent", "bad", "--json").json["canceled"]) == {third, first}
    assert run("cancel", "--all", "--since", "1h").out == f"canceled {second}\n"
    assert run("cancel", "--all").out == "there are no such jobs\n"


def test_lists_of_a_time(run: CommandLine) -> None:
    jobs = fail(run, "bad", "bad")
    with bp.connect(run.url) as coordinator:
        made = coordinator.job(jobs[1]).info().created_at
        failed = coordinator.job(jobs[0]).info().updated_at
        assert [info.id for info in coordinator.jobs(until=made)] == jobs[:1]
        assert [info.id for info in coordinator.dead_letters(since=failed + timedelta(milliseconds=1))] == jobs[1:]
        with pytest.raises(bp.BadSetup, match="nothing is between them"):
            coordinator.jobs(since=made, until=made)
    assert listed(run, "jobs", "--since", made.isoformat()) == jobs[1:]
    assert listed(run, "jobs", "--since", "1h", "--until", made.isoformat()) == jobs[:1]
    assert listed(run, "dead-letters", "--since", "2h") == jobs[::-1]
    assert listed(run, "dead-letters", "--until", "2h") == []
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    assert run("redrive", "--all", "--since", later).out == "there are no such dead letters\n"
    assert run("redrive", "--all", "--until", failed.isoformat()).out == "there are no such dead letters\n"
    assert "write how long ago, such as 2h, or e.g. 2031" in run("jobs", "--since", "soon").complaint


def test_cancel_all_skips_what_is_gone_since_it_was_listed(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    with bp.connect(run.url, app=app) as coordinator:
        gone, ended, left = (coordinator.submit("bad", {}) for _ in range(3))
        list_unended = jobs._unended

        def and_others_act(*filters: Any) -> list[str]:
            found = list_unended(*filters)
            for job in (gone, ended):
                job.cancel()
            coordinator.delete_job(gone.id)
            return [gone.id, *(job for job in found if job != gone.id)]

        monkeypatch.setattr(jobs, "_unended", and_others_act)
        assert run("cancel", "--all", "--json").json == {"canceled": [left.id]}
        assert left.info().state == "canceled"


def test_redrive_all_skips_what_is_gone_since_it_was_listed(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    first, canceled, gone, last = fail(run, "bad", "bad", "bad", "bad")
    choose = family.chosen

    def and_others_act(*asked: Any) -> Any:
        with bp.connect(run.url) as coordinator:
            coordinator.redrive(canceled)
            coordinator.job(canceled).cancel()
            coordinator.delete_job(gone)
        return choose(*asked)

    monkeypatch.setattr(dead, "chosen", and_others_act)
    assert run("redrive", "--all", "--json").json == {
        "redriven": [first, last],
        "left": {},
        "not_asked_for": {},
        "waits": {},
    }
    assert run("dead-letters", "--json").json == []
