"""Commit lines as this store keeps them: the seal as its 20 bytes, because as text it was a third of the line.

    stored = zero byte + seal + step_index parent created_at expires_at spans [place]

Files from before schema 8 hold lines as text. None of those begins with a zero byte, so each tells which it is.
"""

from __future__ import annotations

_MARK = b"\0"
_SEALED = 21  # the mark and the seal
_AT = 5  # the seal's field in a line
_FIELDS = _AT + 1  # those that have no spaces; the place after them may


def packed(line: str) -> bytes:
    """A commit line as it is stored."""
    fields = line.split(" ", _FIELDS)
    seal = bytes.fromhex(fields.pop(_AT))
    return _MARK + seal + " ".join(fields).encode()


def unpacked(stored: bytes) -> bytes:
    """The commit line that was stored. If bytes are damaged: one that can't be read, or that its seal does not fit."""
    if not stored.startswith(_MARK):
        return stored
    fields = stored[_SEALED:].split(b" ", _AT)
    fields.insert(_AT, stored[len(_MARK) : _SEALED].hex().encode())
    return b" ".join(fields)
