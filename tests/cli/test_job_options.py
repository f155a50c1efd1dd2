"""The options of commands that make a job."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

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


def test_a_key_is_known_for_as_long_as_submit_says(run: CommandLine) -> None:
    again = ("submit", "a", '{"text": "tea"}', "--key", "k", "--key-ttl")
    first = run(*again, "0").out
    assert run(*again, "0").out == first
    assert run("cancel", first.strip()).code == 0
    assert run(*again, "90s").out not in ("", first)
    assert "--key-ttl 'soon': write seconds" in run(*again, "soon").complaint
    lone = run("submit", "a", '{"text": "tea"}', "--key-ttl", "1d").complaint
    assert lone == "key_ttl= says how long a key is known, and key= is missing"


def test_a_fork_for_an_agent_takes_those_of_submit(run: CommandLine) -> None:
    with bp.connect(run.url) as coordinator:
        saved = coordinator.save(thread="t", agent="a", state={"text": "tea"}).id
    fork = ("fork", saved, "--agent", "a", "--key", "k")
    times = ("--delay", "5m", "--expires", "1h", "--deadline", "2d", "--key-ttl", "0")
    job = run(*fork, *times, "--guard", '{"hops": 80}', "--priority", "high").out.strip()
    shown = run("show", job, "--json").json
    assert (shown["guard"]["hops"], shown["priority"], shown["reason"]) == (80, "high", "scheduled")
    assert shown["due_at"] < shown["expires_at"] < shown["deadline"]
    assert run("cancel", job).code == 0
    assert run(*fork).out not in ("", f"{job}\n")
    assert run("fork", saved, "--guard", "{}").complaint == "--guard needs --agent"
    assert run("fork", saved, "--key-ttl", "1d").complaint == "--key-ttl needs --agent"


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_tokyo")
def test_local_times_are_shown_with_their_zone(run: CommandLine) -> None:
    """As --at takes them, whatever the zone of who reads it."""
    job = run("submit", "a", '{"text": "tea"}', "--at", "2031-05-01T09:00").out.strip()
    [shown] = re.findall("due_at +(.+)\n", run("show", job).out)
    assert shown == "2031-05-01 09:00:00+09:00"
    assert re.search(r":\d\d\+09:00 ", run("jobs").out)
    again = run("submit", "a", '{"text": "tea"}', "--at", shown, "--json").json["id"]
    assert run("show", again, "--json").json["due_at"] == "2031-05-01T00:00:00Z"
