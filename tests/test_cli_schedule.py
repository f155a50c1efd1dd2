"""The command line about schedules."""

from __future__ import annotations

import pytest

import batonpass as bp

from .commandline import CommandLine
from .workers.serving import Reply, only


@pytest.fixture
def run(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    app = only(lambda ask: Reply(text=ask.text))
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
    return CommandLine(store_url, capsys, monkeypatch)


def test_schedules_are_made_listed_and_removed(run: CommandLine) -> None:
    add = ("schedule", "add", "morning", "a", '{"text": "rain"}', "--cron")
    assert run(*add, "0 9 * * 1-5", "--timezone", "Europe/Berlin").out == "scheduled morning\n"
    [listed] = run("schedule", "list", "--json").json
    assert (listed["name"], listed["payload"]["text"], listed["timezone"]) == ("morning", "rain", "Europe/Berlin")
    assert listed["next_at"]
    assert "morning" in run("schedule", "list").out
    assert "not a cron expression" in run(*add, "0 9").complaint
    assert "unknown" in run(*add, "* * * * *", "--timezone", "Mars").complaint
    assert run("schedule", "remove", "morning", "--json").json == {"name": "morning", "removed": True}
    assert "no schedule" in run("schedule", "remove", "morning").complaint
