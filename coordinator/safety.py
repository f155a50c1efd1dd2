"""Safety: the warning of a store that may not keep what it acknowledged."""

from __future__ import annotations


class UnsafeStore(UserWarning):
    """The store works, but can lose acknowledged writes, or has lost some. The message says when, and what to do."""
