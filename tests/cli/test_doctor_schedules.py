"""`batonpass doctor` fails if schedules are overdue: a nightly job that never starts is missed by nobody else."""

from __future__ import annotations

import pytest
from anyio.from_thread import start_blocking_portal

import batonpass as bp

from ..harness.schedules import scheduled_before
from ..harness.waiting import wait_until
from ..workers.serving import Reply, only, serving
from .commandline import CommandLine

app = only(lambda ask: Reply(text=ask.text))


def test_an_overdue_schedule(
    sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = CommandLine(sqlite_url, capsys, monkeypatch)

    def told() -> tuple[int, list[tuple[str, str]]]:
        ran = run("doctor", "--json")
        found = [each for each in ran.json["findings"] if each["about"].startswith("schedule")]
        return ran.code, [(each["level"], each["text"]) for each in found]

    with bp.connect(sqlite_url, app=app) as coordinator:
        coordinator.declare(app)
        coordinator.schedule("nightly", "a", {}, cron="0 3 * * *")
        scheduled_before(sqlite_url, app, "resting", "a", 7200)
        coordinator.pause_schedule("resting")
        assert told() == (0, [("ok", "paused"), ("ok", "2")])
        scheduled_before(sqlite_url, app, "minutely", "a", 7200)
        code, [(level, text), *_] = told()
        assert (code, level) == (1, "fail")
        assert text.startswith("1 overdue, e.g. 'minutely' for 1:5"), text
        assert text.endswith(": no job is submitted; no worker is live: start one, any one submits them")
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, sqlite_url)):
            wait_until(lambda: told()[0] == 0)
