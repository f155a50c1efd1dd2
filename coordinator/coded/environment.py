"""The codec that environment variables describe, and a store behind it.

BATONPASS_ENCRYPT_KEYS, BATONPASS_SIGN_KEYS    name:base64 of the key, separated by commas, the first one writes; with
                                               both, what is signed is only read
BATONPASS_COMPRESS                             1 to compress
BATONPASS_ACCEPT_PLAIN                         1 to read what is not protected, too
"""

from __future__ import annotations

import os
from base64 import b64decode
from binascii import Error

from ...contracts.errors import BadSetup
from ..store import Store
from ..urls import open_store
from .codec import Codec
from .store import CodedStore

_ENCRYPT, _SIGN = "BATONPASS_ENCRYPT_KEYS", "BATONPASS_SIGN_KEYS"
_DONE = {_ENCRYPT: "encrypted", _SIGN: "signed"}


def store_at(url: str, namespace: str | None, codec: Codec | None, *, begins: bool = True) -> Store:
    """The store with this URL, not opened, behind `codec`, or else behind the one that the environment asks for."""
    store = open_store(url, namespace, begins=begins)
    codec = codec or codec_from_environment()
    return CodedStore(store, codec) if codec else store


def codec_from_environment() -> Codec | None:
    """The codec. None if no variable is set."""
    encrypt, sign = _keys(_ENCRYPT), _keys(_SIGN)
    compress, plain = _wanted("BATONPASS_COMPRESS"), _wanted("BATONPASS_ACCEPT_PLAIN")
    if not (encrypt or sign or compress):
        return None
    try:
        return Codec(encrypt=encrypt or None, sign=sign or None, compress=compress, plain=plain)
    except BadSetup as error:
        given = " or ".join(name for name, keys in ((_ENCRYPT, encrypt), (_SIGN, sign)) if keys)
        raise BadSetup(f"{given}: {error}") from None


def _wanted(variable: str) -> bool:
    value = os.environ.get(variable, "")
    if value not in ("", "0", "1"):
        raise BadSetup(f"{variable}={value}, but it must be 1 or 0")
    return value == "1"


def _keys(variable: str) -> dict[str, bytes]:
    keys: dict[str, bytes] = {}
    items = [item.strip() for item in os.environ.get(variable, "").split(",")]
    for number, item in enumerate(filter(None, items), 1):
        name, colon, encoded = item.rpartition(":")
        name = name.strip()
        if not colon:  # it may be a key, so it is not shown
            raise BadSetup(f"{variable}: key {number} has no name: write name:base64,name:base64")
        if name.endswith("=") and _decoded(name) is not None:
            raise BadSetup(f"{variable}: the name of key {number} looks like a key itself: write name:base64")
        if name in keys:
            raise BadSetup(f"{variable}: two keys have the name {name!r}: give a new key a new name")
        key = _decoded(encoded)
        if key is None:
            # Perhaps a key of 16 bytes or more was written where its name belongs, so that is not shown.
            told = f"key {number}" if len(name) >= 22 else f"the key {name!r}"
            raise BadSetup(f"{variable}: {told} is not base64: write name:base64,name:base64")
        keys[name] = key
    if variable in os.environ and not keys:  # a secret that could not be loaded must not mean that nothing is protected
        raise BadSetup(f"{variable} is set, but names no key: unset it if nothing is to be {_DONE[variable]}")
    return keys


def _decoded(text: str) -> bytes | None:
    try:
        return b64decode(text, validate=True)
    except (Error, ValueError):
        return None
