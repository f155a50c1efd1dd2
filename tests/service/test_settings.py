"""What `batonpass serve` does not start with: tokens that can be guessed, and paths and proxies that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

import batonpass as bp
from batonpass.service.settings import Settings

from ..cli.commandline import CommandLine
from .service import READ, TOKEN

SHORT = "fifteen-letters"


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A command line that would end where it would begin to serve."""
    for name in ("BATONPASS_TOKEN", "BATONPASS_READ_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("batonpass.cli.serve.log_lines", lambda *_: None)  # it sets up a whole process
    monkeypatch.setattr("batonpass.cli.serve.anyio.run", lambda *_: None)
    return CommandLine(f"sqlite:///{tmp_path}/store.db", capsys, monkeypatch)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_token_that_can_be_guessed_is_for_this_machine_alone(cli: CommandLine, host: str) -> None:
    for given, named in (
        (("--token", SHORT), "--token (BATONPASS_TOKEN) has only 15 characters"),
        (("--token", TOKEN, "--read-token", SHORT), "--read-token (BATONPASS_READ_TOKEN) has only 15 characters"),
    ):
        complaint = cli("serve", "--host", host, *given).complaint
        assert f"--host {host} is open to other machines, and {named}" in complaint
        assert "give it at least 16, for example with python3 -c" in complaint
        assert SHORT not in complaint
        assert "says that a proxy lets others in" in cli("serve", "--root-path", "/x", *given).complaint
        assert cli("serve", *given).code == 0
    assert cli("serve", "--host", host, "--token", SHORT + "!", "--read-token", READ).code == 0


def test_an_empty_token(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that could not be loaded is often an empty text."""
    for given in ("--token", "--read-token"):
        for host in ("127.0.0.1", "0.0.0.0"):
            assert f"{given} (BATONPASS_" in cli("serve", "--host", host, "--token", TOKEN, given, "").complaint
    monkeypatch.setenv("BATONPASS_TOKEN", "")
    assert "open to other machines: give --token" in cli("serve", "--host", "0.0.0.0").complaint


def test_the_read_token_is_another_one(cli: CommandLine) -> None:
    assert "is the full token" in cli("serve", "--token", TOKEN, "--read-token", TOKEN).complaint


@pytest.mark.parametrize(
    "path", ["batonpass", "/a//b", "/a/../b", "/.", "//x.test", "/a b", '/a"', "/a?b", "/a;b", "/\u00e4", "/a\n"]
)
def test_a_path_is_plain(cli: CommandLine, path: str) -> None:
    assert "is not a plain path: write / and" in cli("serve", "--root-path", path).complaint


def test_a_path_is_not_one_of_the_services_own(cli: CommandLine) -> None:
    for path in ("/ui", "/jobs/batonpass", "/metrics/"):
        assert "begins like the service's own path /" in cli("serve", "--root-path", path).complaint
    for path, meant in (("", ""), ("/", ""), ("/a.b/~c/", "/a.b/~c"), ("/jobs-desk", "/jobs-desk")):
        assert Settings(TOKEN, root_path=path).root_path == meant


def test_proxies_are_addresses(cli: CommandLine) -> None:
    """uvicorn believes nobody if it can't read them."""
    for given in ("proxy.internal", "10.0.0.7/8", "10.0.0.1,", "10.0.0.1,*"):
        complaint = cli("serve", "--forwarded-allow-ips", given).complaint
        assert "write addresses and networks, separated by commas" in complaint
    for given in ("", "*", "10.0.0.7, 10.1.0.0/16,::1"):
        assert cli("serve", "--forwarded-allow-ips", given).code == 0


def test_tokens_are_not_shown() -> None:
    assert TOKEN not in repr(Settings(TOKEN, READ))
    assert READ not in repr(Settings(TOKEN, READ))
    with pytest.raises(bp.BadSetup):
        Settings("two words")
