"""Damaged jobs: who can write the store can write what no worker can run. Such a job ends, and nothing else does."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from ..coordinator.rows import DamagedRow, JobRow


def damage(row: JobRow, agents: Container[str]) -> str:
    """Why nobody can run the job, or "". It waited in a queue of one of these agents."""
    if isinstance(row, DamagedRow):
        return f"the {' and the '.join(row.damaged)} of job {row.id} can't be read: submit it again"
    if row.agent not in agents:
        return (
            f"job {row.id} is for agent {row.agent!r}, but waits in the queue of another one, so it was not written "
            "by Batonpass: submit it again"
        )
    return ""


def bared(row: JobRow) -> JobRow:
    """The job without the blobs that can't be read: enough to report that."""
    return replace(row, envelope=b"", result=b"", question=b"", answer=b"", terms=b"", otherwise=b"")
