"""Variables of the environment: all are in the documentation, and nonsense in one is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import batonpass as bp
from tests.cli.commandline import CommandLine
from tests.house.pages import PAGES
from tests.house.tree import shipped

SECRET = "c2VjcmV0IHNlY3JldA=="
NONSENSE = {
    "BATONPASS_URL": (["jobs"], "banana", "store URL 'banana' can't be used: write sqlite:///file.db"),
    "BATONPASS_ENCRYPT_KEYS": (["jobs"], f"k:{SECRET}", "the key 'k' has 13 bytes: it must have 16 or 32"),
    "BATONPASS_SIGN_KEYS": (["jobs"], SECRET, "key 1 has no name: write name:base64,name:base64"),
    "BATONPASS_COMPRESS": (["jobs"], "banana", "BATONPASS_COMPRESS=banana, but it must be 1 or 0"),
    "BATONPASS_ACCEPT_PLAIN": (["jobs"], "yes", "BATONPASS_ACCEPT_PLAIN=yes, but it must be 1 or 0"),
    "BATONPASS_TOKEN": (["serve"], "ä b", "use ASCII letters, digits and signs, no spaces"),
    "BATONPASS_READ_TOKEN": (["serve"], "\u00e4 b", "use ASCII letters, digits and signs, no spaces"),
    "BATONPASS_WEBHOOK_SECRET": (["webhooks", "add", "w", "https://x.example/"], "banana", "is whsec_ and 24 to 64"),
}
# Nonsense that would leave data unencrypted, or unreadable.
KEYS = {
    "": "BATONPASS_ENCRYPT_KEYS is set, but names no key: unset it if nothing is to be encrypted",
    " , ": "BATONPASS_ENCRYPT_KEYS is set, but names no key",
    f"k:{SECRET},k:{SECRET}": "BATONPASS_ENCRYPT_KEYS: two keys have the name 'k'",
    f"{SECRET}:prod": "BATONPASS_ENCRYPT_KEYS: the name of key 1 looks like a key itself",
    f"{SECRET.strip('=') * 2}:prod!": "BATONPASS_ENCRYPT_KEYS: key 1 is not base64",
    f"k:{SECRET},{SECRET}:?": "BATONPASS_ENCRYPT_KEYS: the name of key 2 looks like a key itself",
}
# Those of the demo are any text.
ANY = {"BATONPASS_DEMO_MODEL", "BATONPASS_DEMO_EVIDENCE", "BATONPASS_DEMO_HOLD"}


def read_by_the_product() -> set[str]:
    sources = [path.read_text() for path in shipped().values() if path.suffix == ".py"]
    return {name for source in sources for name in re.findall(r'"(BATONPASS_[A-Z_]+)"', source)}


def test_every_variable_is_documented() -> None:
    table = PAGES["docs/running.md"].partition("## Environment")[2]
    named = {name for row in re.findall(r"^\|([^|]*)\|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert named == read_by_the_product() == {*NONSENSE, *ANY}


def test_help_names_those_that_are_for_users(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    helped = CommandLine("sqlite:///x.db", capsys, monkeypatch)("--help").out
    told = set(re.findall(r"^ *(BATONPASS_\w+)  ", helped, re.MULTILINE))
    assert told == read_by_the_product() - {"BATONPASS_DEMO_EVIDENCE", "BATONPASS_DEMO_HOLD"}


@pytest.mark.parametrize("variable", NONSENSE)
def test_nonsense_is_named(
    variable: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command, value, wanted = NONSENSE[variable]
    monkeypatch.chdir(tmp_path)
    cli = CommandLine(f"sqlite:////{tmp_path}/batonpass.db", capsys, monkeypatch)
    monkeypatch.setenv(variable, value)
    complaint = cli(*command).complaint
    assert variable in complaint
    assert wanted in complaint
    assert SECRET not in complaint


@pytest.mark.parametrize("value", KEYS)
def test_keys_that_are_not_there_are_missed(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that could not be loaded is often an empty text."""
    monkeypatch.setenv("BATONPASS_ENCRYPT_KEYS", value)
    with pytest.raises(bp.BadSetup, match=KEYS[value]) as refused:
        bp.connect("memory://")
    assert SECRET not in str(refused.value)
