"""The command line about webhooks. (That they are sent: tests/workers.)"""

from __future__ import annotations

from dataclasses import replace

import pytest

import batonpass as bp
from batonpass.coordinator.calls import drive, webhooks

from .commandline import CommandLine


def test_a_webhook_that_exists_does_not_begin_again_in_silence(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = CommandLine(store_url, capsys, monkeypatch)
    add = ("webhooks", "add", "my pager", "https://example.com", "--begin")
    assert run(*add).err == ""
    again = run(*add, "--json")
    assert again.json["name"] == "my pager"
    assert "`batonpass groups move 'webhook:my pager' --to begin`" in again.err
    assert run(*add[:-1]).err == ""


@pytest.mark.parametrize("why", ["it answered 410", "lost: `batonpass x`, then `batonpass webhooks resume 'my pager'`"])
def test_doctor_says_once_how_a_paused_webhook_goes_on(
    why: str, sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a command that can be pasted, whatever the webhook's name is."""
    run = CommandLine(sqlite_url, capsys, monkeypatch)
    run("webhooks", "add", "my pager", "https://example.com")
    with bp.connect(sqlite_url) as coordinator:
        [row] = drive(coordinator.store, webhooks.listed())
        drive(coordinator.store, webhooks.note(replace(webhooks.read(row), paused=why)))
    [told] = [each["text"] for each in run("doctor", "--json").json["findings"] if each["about"] == "webhook my pager"]
    assert told.count("webhooks resume") == told.count("`batonpass webhooks resume 'my pager'`") == 1
