"""The command line's commands that delete: what they say is gone, and what they refuse."""

from __future__ import annotations

import pytest

import batonpass as bp

from .commandline import CommandLine, kept

app = bp.App("deleting")


@app.agent("go", accepts=bp.State, returns=bp.State)
def go(state: bp.State) -> bp.State:
    return state


@pytest.fixture
def run(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
    return CommandLine(store_url, capsys, monkeypatch)


@pytest.mark.each_store
def test_a_thread_that_is_not_there_is_refused(run: CommandLine) -> None:
    with bp.connect(run.url) as coordinator:
        coordinator.save(thread="cust-1", agent="go", state={})
    before = kept(run.url)
    for mistyped in (("delete", "cust-l"), ("prune", "cust-l", "--older-than", "0")):
        for options in ([], ["--json"]):
            told = run(*mistyped, *options).complaint
            assert told == "there is no thread 'cust-l' here: `batonpass threads` lists the threads"
    assert kept(run.url) == before


@pytest.mark.each_store
def test_deleted_jobs_are_counted(run: CommandLine) -> None:
    """A job that failed before its first checkpoint is all that its thread has."""
    with bp.connect(run.url, app=app) as coordinator:
        for thread, jobs in (("one", 1), ("two", 2)):
            for _ in range(jobs):
                coordinator.submit("go", {}, thread=thread).cancel()
        coordinator.save(thread="two", agent="go", state={})
    assert run("prune", "one", "--older-than", "0").out == "freed 0 checkpoints\n"
    assert run("delete", "one").out == "deleted 0 checkpoint(s) and 1 job(s) of one\n"
    assert run("delete", "two", "--json").json == {"thread": "two", "checkpoints": 1, "jobs": 2}
    assert run("jobs", "--json").json == []
    assert run("delete", "two").code == 2
