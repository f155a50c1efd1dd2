"""The codec that the environment names, for workers and the command line.

BATONPASS_ENCRYPT_KEYS, BATONPASS_SIGN_KEYS    name:base64 of the key, separated by commas, the first one writes
BATONPASS_COMPRESS                             1 to compress
BATONPASS_ACCEPT_PLAIN                         1 to read what is not protected, too
"""

from __future__ import annotations

import os
from base64 import b64decode
from binascii import Error

from ...contracts.errors import BadSetup
from .codec import Codec

_ENCRYPT, _SIGN = "BATONPASS_ENCRYPT_KEYS", "BATONPASS_SIGN_KEYS"


def codec_from_environment() -> Codec | None:
    """The codec; None if nothing is asked for."""
    encrypt, sign = _keys(_ENCRYPT), _keys(_SIGN)
    compress, plain = _wanted("BATONPASS_COMPRESS"), _wanted("BATONPASS_ACCEPT_PLAIN")
    if encrypt and sign:
        raise BadSetup(f"{_ENCRYPT} and {_SIGN} are both set: give one, since what is encrypted can't be forged either")
    if not (encrypt or sign or compress):
        return None
    try:
        return Codec(encrypt=encrypt, sign=sign, compress=compress, plain=plain)
    except BadSetup as error:
        raise BadSetup(f"{_ENCRYPT if encrypt else _SIGN}: {error}") from None


def _wanted(variable: str) -> bool:
    value = os.environ.get(variable, "")
    if value not in ("", "0", "1"):
        raise BadSetup(f"{variable}={value}, but it is 1 or 0")
    return value == "1"


def _keys(variable: str) -> dict[str, bytes]:
    keys: dict[str, bytes] = {}
    for number, item in enumerate(filter(None, os.environ.get(variable, "").split(",")), 1):
        name, colon, encoded = item.partition(":")
        if not colon:  # it may be a key: it is not shown
            raise BadSetup(f"{variable}: key {number} has no name: write name:base64,name:base64")
        try:
            keys[name.strip()] = b64decode(encoded, validate=True)
        except (Error, ValueError):
            raise BadSetup(f"{variable}: the key {name!r} is not base64: write name:base64,name:base64") from None
    return keys
