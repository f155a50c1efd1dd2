"""Texts: encrypts error messages where a store keeps texts: in jobs, in outcomes of children, in events."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping

from ...contracts.errors import BadSetup, Corrupted, MissingExtra
from .codec import WITH_CODEC, Codec, KeyName, key_of

# An encrypted text begins like this. What stores write themselves is not encrypted, and may stand before one.
_MARK = "\x02"
_CODED = re.compile(rf"{_MARK}([A-Za-z0-9+/]+=*)\Z")


def hidden(codec: Codec, text: str, subject: str) -> str:
    """An error's text as stored with a job, or with what else it is about."""
    if not text or not codec.encrypts:
        return text
    return _MARK + b64encode(codec.wrap(text.encode(), _about(subject))).decode()


def told(codec: Codec, text: str, subject: str) -> str:
    """The original text, or why it can't be read. (The rest of its record can.)"""
    return _CODED.sub(lambda found: _decrypted(codec, found[1], subject), text) if _MARK in text else text


def _decrypted(codec: Codec, coded: str, subject: str) -> str:
    try:
        return codec.unwrap(b64decode(coded), _about(subject)).decode()
    except (Corrupted, BadSetup, MissingExtra, ValueError) as error:
        return f"({error})"


def without_error(fields: Mapping[str, str], codec: Codec, subject: str) -> Mapping[str, str]:
    """An event's fields, with its error encrypted."""
    return {**fields, "error": hidden(codec, fields["error"], subject)} if "error" in fields else fields


def with_error(fields: Mapping[str, str], codec: Codec) -> Mapping[str, str]:
    """An event's fields, with its error decrypted."""
    if _MARK not in fields.get("error", ""):
        return fields
    return {**fields, "error": told(codec, fields["error"], fields["subject"])}


def clear(text: str) -> str:
    """A text for a reader without a codec."""
    return _CODED.sub(lambda _: f"(what the error says is encrypted: {WITH_CODEC})", text) if _MARK in text else text


def key_in(text: str) -> KeyName | None:
    """The key with which a text was encrypted. None if it is not: what stores write themselves never is."""
    found = _CODED.search(text) if _MARK in text else None
    try:
        return key_of(b64decode(found[1])) if found else None
    except ValueError:  # it is damaged
        return None


def _about(subject: str) -> str:
    return f"the error of {subject}"
