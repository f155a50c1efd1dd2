"""Names of keys: what a program writes with a codec of its own, the command line must be able to read."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator.coded.environment import codec_from_environment

KEY, OTHER = b"k" * 32, b"o" * 32


def _keys(use: str, keys: dict[str, bytes]) -> dict[str, Any]:
    return {use: keys}


@pytest.mark.parametrize(("use", "variable"), [("encrypt", "ENCRYPT_KEYS"), ("sign", "SIGN_KEYS")])
@pytest.mark.parametrize("name", ["2026:11", "a b", "team/2026"])
def test_the_environment_has_a_form_for_it(monkeypatch: pytest.MonkeyPatch, use: str, variable: str, name: str) -> None:
    """A colon in a name was taken for its end."""
    options = _keys(use, {name: KEY})
    stored = bp.Codec(**options).wrap(b"hello", "it")
    monkeypatch.setenv(f"BATONPASS_{variable}", f"{name}:{b64encode(KEY).decode()}")
    codec = codec_from_environment()
    assert codec is not None
    assert codec.unwrap(stored, "it") == b"hello"


@pytest.mark.parametrize("use", ["encrypt", "sign"])
@pytest.mark.parametrize("name", ["a,b", " a", "a\n"])
def test_a_name_without_such_a_form_writes_nothing(use: str, name: str) -> None:
    """What was written with it before can still be read with it."""
    with pytest.raises(bp.BadSetup, match="can't be given in the environment"):
        bp.Codec(**_keys(use, {name: KEY}))
    bp.Codec(**_keys(use, {"new": OTHER, name: KEY}))
