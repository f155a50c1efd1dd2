"""`batonpass keys`: which keys may go."""

from __future__ import annotations

from base64 import b64encode

import pytest

import batonpass as bp

from .commandline import CommandLine, kept

_KEYS = {"new": b"n" * 32, "old": b"o" * 32, "spare": b"s" * 32}


@pytest.fixture
def run(sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A store with two threads that were encrypted with different keys."""
    for name in ("old", "new"):
        with bp.connect(sqlite_url, codec=bp.Codec(encrypt={name: _KEYS[name]})) as coordinator:
            coordinator.save(thread=f"of {name}", agent="a", state={"n": 1})
    given = ",".join(f"{name}:{b64encode(key).decode()}" for name, key in _KEYS.items())
    monkeypatch.setenv("BATONPASS_ENCRYPT_KEYS", given)
    return CommandLine(sqlite_url, capsys, monkeypatch)


def test_a_line_for_each_key(run: CommandLine) -> None:
    before = kept(run.url)
    headings, *lines = map(str.split, run("keys").out.splitlines())
    assert headings[:5] == ["KEY", "PROTECTION", "HERE", "JOBS", "THREADS"]
    assert [line[:5] for line in lines] == [
        ["new", "encrypted", "writes", "0", "1"],
        ["old", "encrypted", "reads", "0", "1"],
        ["spare", "encrypted", "reads", "0", "0"],
    ]
    assert [(each["key"], each["threads"]) for each in run("keys", "--json").json] == [
        ("new", ["of new"]),
        ("old", ["of old"]),
        ("spare", []),
    ]
    assert kept(run.url) == before


def test_what_needs_one(run: CommandLine) -> None:
    assert [line.split(maxsplit=1) for line in run("keys", "old").out.splitlines()[1:]] == [["thread", "of old"]]
    [found] = run("keys", "old", "--json").json
    assert (found["key"], found["known"], found["writes"], found["threads"]) == ("old", True, False, ["of old"])
    nothing = run("keys", "spare")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "nothing needs it\n")
    assert run("keys", "-").err == "nothing needs it\n"


def test_a_mistyped_key_is_not_one_that_nothing_needs(run: CommandLine) -> None:
    assert run("keys", "odl").complaint.startswith("there is no key 'odl'")


def test_another_key_by_the_name_of_one(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was said to be here, so who had put back a wrong one believed that all is well."""
    monkeypatch.setenv("BATONPASS_ENCRYPT_KEYS", f"new:{b64encode(b'x' * 32).decode()}")
    told = run("keys")
    assert told.code == 1
    assert [line.split()[:2] + line.split()[-7:-4] for line in told.out.splitlines()[1:]] == [
        ["new", "encrypted", "writes", "0", "0"],
        ["new", "encrypted", "key", "0", "1"],
        ["old", "encrypted", "missing", "0", "1"],
    ]
    assert "another key" in told.out
    assert "the key 'new' is another key here than the one that wrote" in told.err
    one = run("keys", "new", "--json")
    assert (one.code, [each["other"] for each in one.json]) == (1, [False, True])
    assert run("keys", "old").code == 0
    [text] = [each["text"] for each in run("doctor", "--json").json["findings"] if each["about"] == "keys"]
    assert text.startswith("2 of 2 thread(s) can't be read here: ")


def test_a_key_that_is_missing_here(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BATONPASS_ENCRYPT_KEYS")
    lines = [line.split()[:3] for line in run("keys").out.splitlines()[1:]]
    assert lines == [["-", "plain", "writes"], ["new", "encrypted", "missing"], ["old", "encrypted", "missing"]]


def test_what_is_plain(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BATONPASS_ENCRYPT_KEYS")
    with bp.connect(run.url) as coordinator:
        coordinator.save(thread="plain", agent="a", state={"n": 1})
    assert run("keys").out.splitlines()[1].split()[:3] == ["-", "plain", "writes"]
    assert run("keys", "-").out.splitlines()[1].split() == ["thread", "plain"]


def test_lists_and_checks_show_what_is_beside_the_unreadable(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BATONPASS_ENCRYPT_KEYS")
    app = bp.App("desk")
    app.agent("write", accepts=bp.State, returns=bp.State)(lambda state: state)
    for codec, name in ((bp.Codec(encrypt={"gone": b"g" * 32}), "hidden"), (None, "plain")):
        with bp.connect(run.url, app=app, codec=codec) as coordinator:
            coordinator.schedule(name, "write", {}, cron="0 3 * * *")
            coordinator.webhook(name, "https://hooks.example.com/jobs")
    _, hidden, plain = run("schedule", "list").out.splitlines()
    assert (hidden.split()[:5], plain.split()[:2]) == (["hidden", "-", "-", "-", "unreadable"], ["plain", "write"])
    assert "is encrypted, signed or compressed" in hidden
    found = {each["about"]: (each["level"], each["text"]) for each in run("doctor", "--json").json["findings"]}
    for about in ("schedule hidden", "webhook hidden"):
        assert found[about][0] == "warn"
        assert "can't be looked at" in found[about][1]
