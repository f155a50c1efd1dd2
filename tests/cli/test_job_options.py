"""The options of commands that make a job."""

from __future__ import annotations

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
