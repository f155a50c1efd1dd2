"""Variables of the environment: all are in the documentation, and nonsense in one is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commandline import CommandLine
from tests.house.pages import PAGES
from tests.house.tree import shipped

SECRET = "c2VjcmV0IHNlY3JldA=="
NONSENSE = {
    "BATONPASS_URL": (["jobs"], "banana", "store URL 'banana' can't be used: write sqlite:///file.db"),
    "BATONPASS_ENCRYPT_KEYS": (["jobs"], f"k:{SECRET}", "the key 'k' has 13 bytes: it must have 16 or 32"),
    "BATONPASS_SIGN_KEYS": (["jobs"], SECRET, "key 1 has no name: write name:base64,name:base64"),
    "BATONPASS_COMPRESS": (["jobs"], "banana", "BATONPASS_COMPRESS=banana, but it is 1 or 0"),
    "BATONPASS_ACCEPT_PLAIN": (["jobs"], "yes", "BATONPASS_ACCEPT_PLAIN=yes, but it is 1 or 0"),
    "BATONPASS_TOKEN": (["serve"], "ä b", "give ASCII letters, digits and signs, no spaces"),
    "BATONPASS_WEBHOOK_SECRET": (["webhooks", "add", "w", "https://x.example/"], "banana", "is whsec_ and 24 to 64"),
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
