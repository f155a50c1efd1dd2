"""Safety: the warning of a store that may not keep what it acknowledged."""

from __future__ import annotations


class UnsafeStore(UserWarning):
    """The store works, but can lose acknowledged writes, has lost some, or was moved, so that what is read here is out
    of date. The message says when or where, and what to do."""
