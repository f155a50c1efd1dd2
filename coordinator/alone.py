"""Alone: whether this process was made to run jobs one at a time, and does nothing else."""

from __future__ import annotations

_alone = False


def be_alone() -> None:
    """This process is a worker's child."""
    global _alone
    _alone = True


def is_alone() -> bool:
    """Whether all code that runs in this process is that of one job."""
    return _alone
