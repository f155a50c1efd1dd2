"""Two keys by one name are told apart: what the other one has protected is not damaged, but waits for its owner."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.errors import BatonpassError
from batonpass.coordinator.coded.codec import MissingKey, Unproven, key_of

_KEY, _OTHER = {"k": b"o" * 32}, {"k": b"x" * 32}
# b"hello" in the place "it", with _KEY, as it was stored before keys had marks.
_BEFORE = {
    "encrypt": bytes.fromhex("0265016b3e4569161aaf9319bab75583de74c332165cd9c01739107697e7f6230b0489c957f8"),
    "sign": bytes.fromhex("0273016b9eb7792c18c8c396bb9404f3073170e9449090b5354c2792e0842e2f7e1d15147268656c6c6f"),
}
_DONE = {"encrypt": "encrypted", "sign": "signed"}
protects = pytest.mark.parametrize("use", ["encrypt", "sign"])


def codec(use: str, key: dict[str, bytes]) -> bp.Codec:
    options: dict[str, Any] = {use: key}
    return bp.Codec(**options)


def refusal(reader: bp.Codec, data: bytes) -> BatonpassError:
    with pytest.raises(BatonpassError) as refused:
        reader.unwrap(data, "it")
    return refused.value


@protects
def test_whatever_each_has_opened(use: str) -> None:
    ours, theirs = codec(use, _KEY), codec(use, _OTHER)
    for one in (ours, theirs):
        assert one.unwrap(one.wrap(b"own", "it"), "it") == b"own"
    for reader, writer in ((ours, theirs), (theirs, ours)):
        error = refusal(reader, writer.wrap(b"hello", "it"))
        assert type(error) is MissingKey
        assert f"it is {_DONE[use]} with another key 'k' than" in str(error)


@protects
def test_what_was_changed_is_known_at_once(use: str) -> None:
    stored = codec(use, _KEY).wrap(b"hello", "it")
    assert type(refusal(codec(use, _KEY), stored[:-1] + b"?")) is bp.Corrupted


@protects
def test_no_change_is_overlooked(use: str) -> None:
    reader = codec(use, _KEY)
    stored = reader.wrap(b"hello", "it")
    for at in range(len(stored)):
        refusal(reader, stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :])
        if at:
            refusal(reader, stored[:at])


@protects
def test_what_was_stored_before_keys_had_marks(use: str) -> None:
    """Only what is as old shows whether the key is right: the rest may have been written by this very process."""
    stored, right, wrong = _BEFORE[use], codec(use, _KEY), codec(use, _OTHER)
    assert right.unwrap(stored, "it") == b"hello"
    assert type(refusal(right, stored[:-1] + b"?")) is bp.Corrupted
    wrong.unwrap(wrong.wrap(b"own", "it"), "it")
    assert type(refusal(wrong, stored)) is Unproven
    assert key_of(stored) == (_DONE[use], "k", b"")
    assert [key_of(right.wrap(b"hello", "it"))] == right.names


def _heads(stored: bytes, name: str, mark: bool) -> list[bytes]:
    """The record, each time with another bit changed of what says which key it has."""
    changed = [(at, bit) for at in range(2, 3 + len(name) + 4 * mark) for bit in range(8)]
    return [stored[:at] + bytes([stored[at] ^ 1 << bit]) + stored[at + 1 :] for at, bit in changed]


@protects
def test_damage_to_what_names_the_key_is_no_missing_key(use: str) -> None:
    """Nobody is to look for a key that there never was."""
    reader = codec(use, {"newest": b"n" * 32, **_KEY, "oldest": b"z" * 32})
    new = _heads(codec(use, _KEY).wrap(b"hello", "it"), "k", mark=True)
    for data in [*new, *_heads(_BEFORE[use], "k", mark=False)]:
        assert type(refusal(reader, data)) is bp.Corrupted


@protects
def test_a_record_that_was_cut_off_where_it_names_its_key_lacks_none(use: str) -> None:
    stored = codec(use, {"key": b"o" * 32}).wrap(b"hello", "it")
    for reader in (codec(use, {"key": b"o" * 32}), codec(use, _OTHER), bp.Codec(compress=True)):
        assert all(type(refusal(reader, stored[:size])) is bp.Corrupted for size in range(1, 10))


@protects
def test_what_another_key_has_protected_lacks_that_key(use: str) -> None:
    named = codec(use, {"other": b"x" * 32}).wrap(b"hello", "it")
    assert "with the key 'other', which the codec was not given" in str(refusal(codec(use, _KEY), named))
    for data in (named, codec(use, _OTHER).wrap(b"hello", "it")):
        assert type(refusal(codec(use, _KEY), data)) is MissingKey
        assert type(refusal(bp.Codec(compress=True), data)) is MissingKey


def test_damage_where_a_record_that_is_only_verified_names_its_key() -> None:
    reader = bp.Codec(encrypt={"new": b"n" * 32}, sign=_KEY)
    for data in _heads(codec("sign", _KEY).wrap(b"hello", "it"), "k", mark=True):
        assert type(refusal(reader, data)) is bp.Corrupted


@protects
def test_a_checkpoint_with_such_damage_is_damaged(use: str, tmp_path: Path) -> None:
    with bp.connect(f"sqlite:///{tmp_path}/store.db", codec=codec(use, _KEY)) as coordinator:
        saved = coordinator.save(thread="t", agent="a", state={"n": 1})
        with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as database:
            [[stored]] = database.execute("SELECT state FROM checkpoint")
            database.execute("UPDATE checkpoint SET state = ?", (stored[:3] + b"j" + stored[4:],))
        with pytest.raises(bp.Corrupted, match="its state is not what was saved"):
            coordinator.restore(saved.id)
        rest = coordinator.restore(saved.id, partial=True)
        assert (rest.damaged, rest.unreadable) == (("state",), ())
