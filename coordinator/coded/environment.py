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


def codec_from_environment() -> Codec | None:
    """The codec; None if nothing is asked for."""
    encrypt, sign = _keys("BATONPASS_ENCRYPT_KEYS"), _keys("BATONPASS_SIGN_KEYS")
    compress = os.environ.get("BATONPASS_COMPRESS", "") not in ("", "0")
    if not (encrypt or sign or compress):
        return None
    plain = os.environ.get("BATONPASS_ACCEPT_PLAIN", "") not in ("", "0")
    return Codec(encrypt=encrypt, sign=sign, compress=compress, plain=plain)


def _keys(variable: str) -> dict[str, bytes]:
    keys: dict[str, bytes] = {}
    for item in filter(None, os.environ.get(variable, "").split(",")):
        name, _, encoded = item.partition(":")
        try:
            keys[name.strip()] = b64decode(encoded, validate=True)
        except Error:
            raise BadSetup(f"{variable}: the key {name!r} is not base64: write name:base64,name:base64") from None
    return keys
