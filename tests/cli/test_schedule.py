"""The command line about schedules, and about when a job may start and must end."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp

from ..workers.serving import Reply, only
from .commandline import CommandLine


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
    assert "morning" in (table := run("schedule", "list").out)
    assert " 09:00:00 " in table  # in Berlin, where it is due
    assert run(*add, "0 9 * * 1-5", "--expires", "12h").code == 0
    assert run("schedule", "list", "--json").json[0]["options"]["expires"] == 43_200
    assert run(*add, "0 9 * * 1-5", "--deadline", "2h", "--guard", '{"hops": 80}').code == 0
    options = run("schedule", "list", "--json").json[0]["options"]
    assert (options["deadline"], options["guard"]["hops"]) == (7200, 80)
    assert "--expires 'soon': write seconds" in run(*add, "0 9 * * 1-5", "--expires", "soon").complaint
    assert "not a cron expression" in run(*add, "0 9").complaint
    assert "unknown" in run(*add, "* * * * *", "--timezone", "Mars").complaint
    assert run("schedule", "pause", "morning").out == "paused morning\n"
    assert "  paused  " in run("schedule", "list").out
    job = run("schedule", "run", "morning").out.strip()
    assert run("show", job, "--json").json["payload"] == run("schedule", "list", "--json").json[0]["payload"]
    assert run("schedule", "resume", "morning", "--json").json == {"name": "morning", "paused": False}
    assert "no schedule" in run("schedule", "pause", "evening").complaint
    assert run("schedule", "remove", "morning", "--json").json == {"name": "morning", "removed": True}
    assert "no schedule" in run("schedule", "remove", "morning").complaint


def test_times_may_have_units(run: CommandLine) -> None:
    def after(job: dict[str, Any], name: str) -> float:
        made, when = (datetime.fromisoformat(job[key]) for key in ("created_at", name))
        return (when - made).total_seconds()

    times = ("--delay", "5m", "--expires", "1.5h", "--deadline", "2d")
    job = run("show", run("submit", "a", '{"text": "rain"}', *times).out.strip(), "--json").json
    assert [after(job, name) for name in ("due_at", "expires_at", "deadline")] == [300, 5400, 172_800]


def test_the_app_may_be_named_instead_of_declared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its first worker ran, the store has no record of it."""
    (tmp_path / "scheduled_desk.py").write_text(
        "import batonpass as bp\napp = bp.App('desk')\n"
        "app.agent('ask', accepts=bp.State, returns=bp.State)(lambda state: state)\n"
    )
    monkeypatch.chdir(tmp_path)
    line = CommandLine("sqlite:///new.db", capsys, monkeypatch)
    add = ("schedule", "add", "hourly", "ask", '{"n": 1}', "--cron", "0 * * * *")
    assert "there is no store " in line(*add).complaint
    assert line(*add, "--app", "scheduled_desk:app").out == "scheduled hourly\n"
    assert "no app here or in the store has an agent 'nosuch'" in line(*add[:3], "nosuch", *add[4:]).complaint
    assert [each["agent"] for each in line("schedule", "list", "--json").json] == ["ask"]
