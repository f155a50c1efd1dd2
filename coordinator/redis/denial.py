"""Denial: a server refuses a user whom it had let in, as when a password or a certificate is rotated, or an ACL is
loaded with a mistake that is corrected after a while. Then nothing was written, so a caller may try again."""

from __future__ import annotations

import time

from redis import exceptions

from ...contracts.errors import BatonpassError, Unreachable
from ..refusals import Denied
from .failures import failure, first_line, in_script
from .rights import Rights

# After this many seconds of denial, waiting is given up: the program may have to be started with another password.
LASTING = 600.0
# Errors of a user who may run no script, read nothing, or use none of our keys, and so can't ever have opened a store.
_WHOLE = ("'evalsha'", "'eval'", "'mget'", "key")


class Denial:
    """Whether a store was ever let in, with which rights, and since when it is denied. Shared with the store's
    siblings."""

    def __init__(self, url: str) -> None:
        self.let_in = False
        self.rights = Rights(url)
        self.since: float | None = None

    def failure(self, error: Exception, url: str) -> BatonpassError:
        """The error for the user: what happened at the server, and what to do."""
        told = failure(error, url)
        if not self.let_in or not _is_denied(error, told):
            return told
        now = time.monotonic()
        self.since = self.since or now
        return Unreachable(
            f"{told}. It was let in before: put its password, permissions or certificates right (files that change are "
            f"read again), or start again with what is right (a worker ends after {LASTING / 60:g} minutes of this)",
            lasting=now - self.since >= LASTING,
        )


def _is_denied(error: Exception, told: BatonpassError) -> bool:
    """Whether the user may do nothing at all. (A user who lacks a single command has usually never had it.)"""
    if not isinstance(error, exceptions.ResponseError):
        return isinstance(told, Denied)
    text = first_line(error)
    return isinstance(error, exceptions.NoPermissionError) and not in_script(text) and any(w in text for w in _WHOLE)
