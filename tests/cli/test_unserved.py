"""A job that no live worker accepts: its agent may have been retired, or its worker not started."""

from __future__ import annotations

import pytest
from anyio.from_thread import start_blocking_portal

import batonpass as bp

from ..harness.waiting import wait_until
from ..workers.serving import Reply, only, serving
from .commandline import CommandLine

app = only(lambda ask: Reply(text=ask.text))


@pytest.fixture
def run(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
    return CommandLine(store_url, capsys, monkeypatch)


def test_submit_says_so(run: CommandLine) -> None:
    """It is no error: a worker may come."""
    for options in ([], ["--delay", "60"], ["--priority", "low"]):
        alone = run("submit", "a", '{"text": "tea"}', *options)
        job = alone.out.strip()
        assert (alone.code, alone.err) == (0, f"batonpass: job {job} waits: no live worker accepts it yet\n")
    told = run("submit", "a", '{"text": "tea"}', "--json")
    assert (told.code, told.err, told.json.keys()) == (0, "", {"id"})


def test_not_of_a_job_that_a_worker_accepts(run: CommandLine) -> None:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, run.url)):
        with bp.connect(run.url) as coordinator:
            wait_until(lambda: bool(coordinator.workers()))
        assert run("submit", "a", '{"text": "tea"}', "--delay", "60").err == ""
