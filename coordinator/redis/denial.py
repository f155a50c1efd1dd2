"""Denial: a server that refuses a user whom it has let in, as when a password is rotated, or an ACL is loaded with a
mistake that is put right after a while. Who is let in no more may try again: nothing was written."""

from __future__ import annotations

import time

from redis import exceptions

from ...contracts.errors import BatonpassError, Unreachable
from .failures import failure, first_line, in_script

# Seconds of denial after which waiting is given up: a program that is started anew may have another password.
LASTING = 600.0
# No script may run, or nothing be read, or on none of our keys: so a store could never have been opened.
_WHOLE = ("'evalsha'", "'eval'", "'mget'", "key")


class Denial:
    """Whether a store was let in, and since when it is denied. A store shares it with its siblings."""

    def __init__(self) -> None:
        self.let_in = False
        self.since: float | None = None

    def failure(self, error: Exception, url: str) -> BatonpassError:
        """What happened at the server of that URL, and what to do."""
        told = failure(error, url)
        if not self.let_in or not _is_denied(error):
            return told
        now = time.monotonic()
        self.since = self.since or now
        return Unreachable(
            f"{told}. It was let in before: put its password and permissions back, or start again with what is right "
            f"(a worker ends after {LASTING / 60:g} minutes of this)",
            lasting=now - self.since >= LASTING,
        )


def _is_denied(error: Exception) -> bool:
    """Whether the user may do nothing at all. One that lacks a single command has never had it, as a rule."""
    if isinstance(error, exceptions.AuthenticationError):
        return True
    text = first_line(error)
    return isinstance(error, exceptions.NoPermissionError) and not in_script(text) and any(w in text for w in _WHOLE)
