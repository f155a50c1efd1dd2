"""Two keys by one name are told apart: what the other one has protected is not damaged, but waits for its owner."""

from __future__ import annotations

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
    assert key_of(stored) == key_of(right.wrap(b"hello", "it")) == (_DONE[use], "k")
