"""What is shown of a webhook's URL: no password, in no list and no message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import batonpass as bp

from .cli.commandline import CommandLine

H = "https://h.example.com/x"
SHOWN = {
    "https://us:S3kr1t@h.example.com/x": "https://us:***@h.example.com/x",
    "https://S3kr1t@h.example.com/x": "https://***@h.example.com/x",
    "https://h.example.com:8443/team/@ops?access_token=S3kr1t&v=S3kr1t": (
        "https://h.example.com:8443/team/@ops?access_token=***&v=***"
    ),
    "https://h.example.com?token=S3kr1t": "https://h.example.com?token=***",
    f"{H}?api-version=2016-10-01&sig=S3kr1t&code=S3kr1t": f"{H}?api-version=***&sig=***&code=***",
    f"{H}?tok%65n=S3kr1t=S3kr1t;token=S3kr1t": f"{H}?tok%65n=***",
    f"{H}?S3kr1t&a=b": f"{H}?***&a=***",
    f"{H}?a=b?S3kr1t&": f"{H}?a=***&",
    f"{H};token=S3kr1t/y;S3kr1t?a=S3kr1t": f"{H};token=***/y;***?a=***",
    f"{H}#token=S3kr1t?S3kr1t#S3kr1t": f"{H}#***",
    "https://h.example.com#S3kr1t": "https://h.example.com#***",
    H: H,
}
REFUSED = [
    "http://us:S3kr1t@h/x",
    "ftp://us:S3kr1t@h/x",
    "us:S3kr1t@h/x",
    "https:/us:S3kr1t@h/x",
    "https://us:S3kr1t@h /x",
    "https://us:S3kr1t",
    "https://us:S3kr1t?x=1@h/x",
    "https://us:S3/kr1t@h:S3kr1t/x",
    "https://us:S3kr1t@[::1/x",
    "https://us:S3kr1t\u2100@h/x",
]


@pytest.mark.parametrize("url", SHOWN)
def test_a_list_shows_no_password(
    url: str, sqlite_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with bp.connect(sqlite_url) as coordinator:
        coordinator.webhook("w", url)
        assert [each.url for each in coordinator.webhooks()] == [SHOWN[url]]
        assert "S3kr1t" not in repr(coordinator.webhooks())
    run = CommandLine(sqlite_url, capsys, monkeypatch)
    for listed in (run("webhooks", "list").out, json.dumps(run("webhooks", "list", "--json").json)):
        assert "S3kr1t" not in listed


@pytest.mark.parametrize("url", REFUSED)
def test_a_refusal_shows_no_password(url: str) -> None:
    with bp.connect("memory://") as coordinator, pytest.raises(bp.BadSetup) as refused:
        coordinator.webhook("w", url)
    assert "S3kr1t" not in str(refused.value)
    assert "kr1t" not in str(refused.value)
