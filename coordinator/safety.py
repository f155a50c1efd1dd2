"""Safety: what a store says of itself when it can't keep what it acknowledges."""

from __future__ import annotations


class UnsafeStore(UserWarning):
    """The store works, but can lose acknowledged writes. The message says when, and what to set."""
