"""BundleInfo: what a bundle has."""

from __future__ import annotations

from dataclasses import dataclass

from .listed import Listed


@dataclass(frozen=True, kw_only=True)
class BundleInfo(Listed):
    """A thread in a file, with the jobs that ran on it.

    `left_out` says what the file doesn't have: children of a job, what one would go on from, and what is damaged.
    `encrypted` tells whether it needs the store's key.
    """

    thread: str
    jobs: tuple[str, ...]
    checkpoints: int
    left_out: tuple[str, ...] = ()
    encrypted: bool = False
